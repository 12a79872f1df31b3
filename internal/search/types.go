package search

import (
	"fmt"
	"slices"
	"strings"
)

// typeGlobs has the name patterns of file types, with the names that ripgrep uses.
var typeGlobs = map[string]string{
	"asm":        "*.{asm,s,S}",
	"awk":        "*.awk",
	"bat":        "*.bat",
	"bazel":      "{*.bazel,*.bzl,*.BUILD,*.bazelrc,BUILD,MODULE.bazel,WORKSPACE,WORKSPACE.bazel,WORKSPACE.bzlmod}",
	"c":          "{*.[chH],*.[chH].in,*.cats}",
	"clojure":    "*.{clj,cljc,cljs,cljx}",
	"cmake":      "{*.cmake,CMakeLists.txt}",
	"config":     "*.{cfg,conf,config,ini}",
	"cpp":        "{*.[ChH],*.cc,*.[ch]pp,*.[ch]xx,*.hh,*.inl,*.[ChH].in,*.cc.in,*.[ch]pp.in,*.[ch]xx.in,*.hh.in}",
	"cs":         "*.cs",
	"csharp":     "*.cs",
	"css":        "*.{css,scss}",
	"csv":        "*.csv",
	"cuda":       "*.{cu,cuh}",
	"cython":     "*.{pyx,pxi,pxd}",
	"d":          "*.d",
	"dart":       "*.dart",
	"diff":       "*.{patch,diff}",
	"docker":     "*Dockerfile*",
	"elisp":      "*.el",
	"elixir":     "*.{ex,eex,exs,heex,leex,livemd}",
	"elm":        "*.elm",
	"erlang":     "*.{erl,hrl}",
	"fish":       "*.fish",
	"fortran":    "*.{f,F,f77,F77,pfo,f90,F90,f95,F95}",
	"fsharp":     "*.{fs,fsx,fsi}",
	"go":         "*.go",
	"gradle":     "{*.gradle,*.gradle.kts,gradle.properties,gradle-wrapper.*,gradlew,gradlew.bat}",
	"graphql":    "*.{graphql,graphqls}",
	"groovy":     "*.{groovy,gradle}",
	"h":          "*.{h,hh,hpp}",
	"haskell":    "*.{hs,lhs,cpphs,c2hs,hsc}",
	"html":       "*.{htm,html,ejs}",
	"java":       "*.{java,jsp,jspx,properties}",
	"js":         "*.{js,jsx,vue,cjs,mjs}",
	"json":       "{*.json,composer.lock,*.sarif}",
	"jsonl":      "*.jsonl",
	"julia":      "*.jl",
	"jupyter":    "*.{ipynb,jpynb}",
	"kotlin":     "*.{kt,kts}",
	"less":       "*.less",
	"lisp":       "*.{el,jl,lisp,lsp,sc,scm}",
	"lock":       "{*.lock,package-lock.json}",
	"log":        "*.log",
	"lua":        "*.lua",
	"make":       "{[Gg][Nn][Uu]makefile,[Mm]akefile,[Gg][Nn][Uu]makefile.am,[Mm]akefile.am,[Gg][Nn][Uu]makefile.in,[Mm]akefile.in,Makefile.*,*.mk,*.mak}",
	"markdown":   "*.{markdown,md,mdown,mdwn,mkd,mkdn,mdx}",
	"matlab":     "*.m",
	"md":         "*.{markdown,md,mdown,mdwn,mkd,mkdn,mdx}",
	"nim":        "*.{nim,nimf,nimble,nims}",
	"nix":        "*.nix",
	"objc":       "*.{h,m}",
	"objcpp":     "*.{h,mm}",
	"ocaml":      "*.{ml,mli,mll,mly}",
	"perl":       "*.{perl,pl,PL,plh,plx,pm,t}",
	"php":        "*.{php,php3,php4,php5,php7,php8,pht,phtml}",
	"proto":      "*.proto",
	"protobuf":   "*.proto",
	"ps":         "*.{cdxml,ps1,ps1xml,psd1,psm1}",
	"py":         "*.{py,pyi}",
	"python":     "*.{py,pyi}",
	"r":          "*.{R,r,Rmd,rmd,Rnw,rnw}",
	"rst":        "*.rst",
	"ruby":       "{config.ru,Gemfile,.irbrc,Rakefile,*.gemspec,*.rb,*.rbw,*.rake}",
	"rust":       "*.rs",
	"sass":       "*.{sass,scss}",
	"scala":      "*.{scala,sbt}",
	"sh":         "{.env,.login,.logout,.profile,profile,{.,}bash{_login,_logout,_profile,rc},.{c,k,tc}shrc,{.,}z{shenv,login,logout,profile,shrc},*.{bash,bashrc,csh,cshrc,env,ksh,kshrc,sh,tcsh,zsh}}",
	"solidity":   "*.sol",
	"sql":        "*.{sql,psql}",
	"svelte":     "{*.svelte,*.svelte.ts}",
	"svg":        "*.svg",
	"swift":      "*.swift",
	"tcl":        "*.tcl",
	"tex":        "*.{tex,ltx,cls,sty,bib,dtx,ins}",
	"tf":         "{*.tf,*.tf.json,*.tfvars,*.tfvars.json,*.terraformrc,terraform.rc,*.tfrc,*.terraform.lock.hcl}",
	"thrift":     "*.thrift",
	"toml":       "{*.toml,Cargo.lock}",
	"ts":         "*.{ts,tsx,cts,mts}",
	"txt":        "*.txt",
	"typescript": "*.{ts,tsx,cts,mts}",
	"vb":         "*.vb",
	"verilog":    "*.{v,vh,sv,svh}",
	"vim":        "{*.vim,.vimrc,.gvimrc,vimrc,gvimrc,_vimrc,_gvimrc}",
	"vue":        "*.vue",
	"xml":        "{*.xml,*.xml.dist,*.dtd,*.xsl,*.xslt,*.xsd,*.xjb,*.rng,*.sch,*.xhtml}",
	"yaml":       "*.{yaml,yml}",
	"zig":        "*.zig",
}

// typeGlob returns a glob for all file names that have one of the given types, or nil without types.
func typeGlob(types []string) (*glob, error) {
	if len(types) == 0 {
		return nil, nil
	}
	all := &glob{}
	for _, name := range types {
		pattern, ok := typeGlobs[name]
		if !ok {
			return nil, unknownType(name)
		}
		g, err := compileGlob(pattern, false)
		if err != nil {
			return nil, err
		}
		all.alts = append(all.alts, g.alts...)
	}
	return all, nil
}

func unknownType(name string) *PatternError {
	var near []string
	bare := strings.ToLower(strings.TrimLeft(name, "*."))
	if bare != "" {
		for known, pattern := range typeGlobs {
			g, err := compileGlob(pattern, false)
			if err == nil && g.match("x."+bare) || strings.HasPrefix(known, bare) {
				near = append(near, known)
			}
		}
	}
	slices.Sort(near)
	hint := `use a glob such as "*.ext" instead`
	if len(near) > 0 {
		hint = fmt.Sprintf("did you mean %s?", strings.Join(near, ", "))
	}
	return &PatternError{
		Kind:    "file type",
		Pattern: name,
		Pos:     -1,
		Problem: "unknown type",
		Hint:    hint,
	}
}
