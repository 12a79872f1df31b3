package skill

import (
	"embed"
	"io/fs"
	"os"
	"path"
	"slices"
)

//go:embed builtin
var builtinFiles embed.FS

// testFiles are file name patterns that suggest that a project has tests.
var testFiles = []string{
	"go.mod", "Cargo.toml", "package.json", "jest.config.*", "vitest.config.*", "pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg",
	"Package.swift", "pom.xml", "build.gradle*", "mix.exs", "Gemfile", "composer.json", "CMakeLists.txt", "Makefile",
	"deno.json", "*.sln", "*.csproj",
}

// builtins returns the built-in skills for a working directory.
func builtins(dir string) (list []*Skill) {
	entries, err := fs.ReadDir(builtinFiles, "builtin")
	if err != nil {
		panic("skill: " + err.Error())
	}
	for _, e := range entries {
		b, err := fs.ReadFile(builtinFiles, path.Join("builtin", e.Name(), fileName))
		if err != nil {
			panic("skill: " + err.Error())
		}
		d, err := parse(string(b))
		if err != nil {
			panic("skill: " + err.Error())
		}
		s := d.skill(e.Name())
		s.Kind, s.Source = KindSkill, Builtin
		if s.Name == "test" {
			s.Available = func() bool { return hasAny(dir, testFiles) }
		}
		list = append(list, s)
	}
	return list
}

// hasAny reports whether a directory contains a file that matches a pattern.
func hasAny(dir string, patterns []string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			ok, err := path.Match(p, e.Name())
			return ok && err == nil
		})
	})
}
