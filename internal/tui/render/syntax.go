package render

import (
	"strings"
	"sync"

	"github.com/reins-agent/reins/internal/tui/text"
)

// syntax is how a language looks.
type syntax struct {
	names     string // language names in fences, and file name extensions
	keywords  string
	kinds     string // types, constants and built-in functions
	comments  []string
	blocks    []span
	quotes    string
	quoteByte bool   // ' also marks other things than strings
	extra     string // bytes in names beside letters and digits
	fold      bool   // case does not matter
	diff      bool

	once  sync.Once
	roles map[string]text.Role
}

// span is a comment or string that may have several lines.
type span struct {
	open, close string
	role        text.Role
}

// word returns a word's role; after is the text that follows it.
func (l *syntax) word(w, after string) text.Role {
	l.once.Do(func() {
		l.roles = make(map[string]text.Role)
		for k := range strings.FieldsSeq(l.kinds) {
			l.roles[k] = text.Kind
		}
		for k := range strings.FieldsSeq(l.keywords) {
			l.roles[k] = text.Keyword
		}
	})
	if l.fold {
		w = strings.ToLower(w)
	}
	if r, ok := l.roles[w]; ok {
		return r
	}
	if strings.HasPrefix(after, "(") {
		return text.Name
	}
	return text.Plain
}

// languageOf returns the syntax for a language or file name extension, or nil.
func languageOf(name string) *syntax {
	if name == "" {
		return nil
	}
	languages.once.Do(func() {
		languages.byName = make(map[string]*syntax)
		for _, l := range syntaxes() {
			for name := range strings.FieldsSeq(l.names) {
				languages.byName[name] = l
			}
		}
	})
	return languages.byName[name]
}

var languages struct {
	once   sync.Once
	byName map[string]*syntax
}

var (
	slashes   = []string{"//"}
	hash      = []string{"#"}
	dashes    = []string{"--"}
	cComment  = span{"/*", "*/", text.Comment}
	backtick  = span{"`", "`", text.String}
	tripleD   = span{`"""`, `"""`, text.String}
	tripleS   = span{"'''", "'''", text.String}
	cKeywords = "if else for while do switch case default break continue return goto struct union enum typedef static const " +
		"extern sizeof volatile inline register "
	cKinds = "int char float double void long short unsigned signed bool true false NULL size_t "
)

// syntaxes returns the known languages.
func syntaxes() []*syntax {
	return []*syntax{
		{
			names: "go golang",
			keywords: "break case chan const continue default defer else fallthrough for func go goto if import interface map " +
				"package range return select struct switch type var",
			kinds: "any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string " +
				"uint uint8 uint16 uint32 uint64 uintptr true false nil iota append cap clear close copy delete len make max " +
				"min new panic print recover",
			comments: slashes,
			blocks:   []span{cComment, backtick},
			quotes:   `"'`,
		},
		{
			names: "python py python3 pyi",
			keywords: "and as assert async await break class continue def del elif else except finally for from global if import " +
				"in is lambda match case nonlocal not or pass raise return try while with yield",
			kinds: "True False None self cls int str float bool list dict set tuple bytes object print len range open super " +
				"isinstance type",
			comments: hash,
			blocks:   []span{tripleD, tripleS},
			quotes:   `"'`,
		},
		{
			names: "javascript js jsx mjs cjs typescript ts tsx mts",
			keywords: "abstract as async await break case catch class const continue debugger declare default delete do else enum " +
				"export extends finally for from function get if implements import in instanceof interface keyof let " +
				"namespace new of private protected public readonly return satisfies set static super switch this throw try " +
				"type typeof var void while with yield",
			kinds: "true false null undefined NaN any boolean bigint never number object string symbol unknown Array Map Set " +
				"Promise Record console",
			comments: slashes,
			blocks:   []span{cComment, backtick},
			quotes:   `"'`,
			extra:    "$",
		},
		{
			names: "java",
			keywords: "abstract assert break case catch class continue default do else enum extends final finally for if " +
				"implements import instanceof interface native new package permits private protected public record return " +
				"sealed static super switch synchronized this throw throws transient try var volatile while yield",
			kinds:    "boolean byte char double float int long short void true false null String Integer Long Object List Map Set",
			comments: slashes,
			blocks:   []span{cComment, tripleD},
			quotes:   `"'`,
			extra:    "@",
		},
		{
			names: "kotlin kt kts",
			keywords: "abstract as break by catch class companion const constructor continue data do else enum finally for fun if " +
				"import in init inline interface internal is lateinit object open operator override package private " +
				"protected public return sealed super suspend this throw try typealias val var when where while",
			kinds:    "Any Boolean Byte Char Double Float Int Long Nothing Short String Unit List Map Set true false null",
			comments: slashes,
			blocks:   []span{cComment, tripleD},
			quotes:   `"'`,
			extra:    "@",
		},
		{
			names:    "c h",
			keywords: cKeywords,
			kinds:    cKinds,
			comments: slashes,
			blocks:   []span{cComment},
			quotes:   `"'`,
			extra:    "#",
		},
		{
			names: "cpp c++ cc cxx hpp hh objc objective-c m mm",
			keywords: cKeywords +
				"auto catch class concept constexpr consteval co_await co_return co_yield decltype delete explicit export " +
				"final friend mutable namespace new noexcept operator override private protected public requires " +
				"static_assert static_cast template this throw try typename using virtual",
			kinds:    cKinds + "nullptr std string vector map unique_ptr shared_ptr wchar_t",
			comments: slashes,
			blocks:   []span{cComment},
			quotes:   `"'`,
			extra:    "#",
		},
		{
			names: "csharp cs c#",
			keywords: "abstract as async await base break case catch checked class const continue default delegate do else enum " +
				"event explicit extern finally fixed for foreach get goto if implicit in init interface internal is lock " +
				"namespace new operator out override params private protected public readonly record ref return sealed set " +
				"sizeof stackalloc static struct switch this throw try typeof unchecked unsafe using var virtual volatile " +
				"when where while with yield",
			kinds: "bool byte char decimal double dynamic float int long object sbyte short string uint ulong ushort void true " +
				"false null",
			comments: slashes,
			blocks:   []span{cComment, tripleD},
			quotes:   `"'`,
		},
		{
			names: "rust rs",
			keywords: "as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod move " +
				"mut pub ref return static struct super trait type union unsafe use where while",
			kinds: "Self self bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize String Vec Option Some " +
				"None Result Ok Err Box Rc Arc true false",
			comments:  slashes,
			blocks:    []span{cComment, {`r#"`, `"#`, text.String}},
			quotes:    `"'`,
			quoteByte: true,
		},
		{
			names: "ruby rb rake gemspec",
			keywords: "alias and begin break case class def defined? do else elsif end ensure for if in module next not or redo " +
				"rescue retry return super then undef unless until when while yield require require_relative attr_accessor " +
				"attr_reader include extend",
			kinds:    "true false nil self puts raise lambda proc",
			comments: hash,
			blocks:   []span{{"=begin", "=end", text.Comment}},
			quotes:   `"'`,
			extra:    "@?!",
		},
		{
			names: "php",
			keywords: "abstract and as break case catch class clone const continue declare default do echo else elseif enum " +
				"extends final finally fn for foreach function global goto if implements include instanceof interface match " +
				"namespace new or private protected public readonly require require_once return static switch throw trait " +
				"try use var while yield",
			kinds:    "array bool callable float int iterable mixed null object string true false void self parent",
			comments: []string{"//", "#"},
			blocks:   []span{cComment},
			quotes:   `"'`,
			extra:    "$",
		},
		{
			names: "swift",
			keywords: "actor any as associatedtype async await break case catch class continue default defer do else enum " +
				"extension fallthrough fileprivate final for func guard if import in init inout internal is lazy let " +
				"mutating nonisolated open operator override private protocol public repeat required rethrows return some " +
				"static struct subscript super switch throw throws try typealias unowned var weak where while",
			kinds:    "Self self Any Bool Character Double Float Int String UInt Void Array Dictionary Optional Set true false nil",
			comments: slashes,
			blocks:   []span{cComment, tripleD},
			quotes:   `"`,
			extra:    "@#",
		},
		{
			names: "scala sc",
			keywords: "abstract case catch class def do else enum export extends extension final finally for given if implicit " +
				"import lazy match new object override package private protected return sealed super then this throw trait " +
				"try type using val var while with yield",
			kinds: "Any Boolean Byte Char Double Float Int List Long Map Nil None Option Seq Set Short Some String Unit true " +
				"false null",
			comments: slashes,
			blocks:   []span{cComment, tripleD},
			quotes:   `"'`,
			extra:    "@",
		},
		{
			names: "bash sh shell zsh ksh console shell-session",
			keywords: "if then else elif fi for while until do done case esac in function return select break continue exit local " +
				"export readonly declare unset shift trap source eval exec set",
			kinds:    "echo printf cd test true false read cat grep sed awk find git make sudo curl mkdir rm cp mv ls",
			comments: hash,
			quotes:   `"'`,
			extra:    "$-",
		},
		{
			names: "powershell ps1 pwsh",
			keywords: "begin break catch class continue data do dynamicparam else elseif end enum exit filter finally for foreach " +
				"from function if in param process return switch throw trap try until using while",
			kinds:    "$true $false $null",
			comments: hash,
			blocks:   []span{{"<#", "#>", text.Comment}},
			quotes:   `"'`,
			extra:    "$-",
			fold:     true,
		},
		{
			names: "sql mysql postgresql postgres sqlite plpgsql",
			keywords: "add all alter and any as asc begin between by cascade case check column commit constraint create cross " +
				"database default delete desc distinct drop else end except exists explain foreign from full group having if " +
				"in index inner insert intersect into is join key left like limit not null offset on or order outer primary " +
				"references returning right rollback select set table then transaction truncate union unique update using " +
				"values view when where with",
			kinds: "bigint bool boolean bytea char date decimal double float int integer interval json jsonb numeric real " +
				"serial smallint text time timestamp timestamptz uuid varchar true false count sum avg min max coalesce now",
			comments: dashes,
			blocks:   []span{cComment},
			quotes:   `'"`,
			fold:     true,
		},
		{
			names:    "json jsonc json5 jsonl",
			kinds:    "true false null",
			comments: slashes,
			blocks:   []span{cComment},
			quotes:   `"`,
		},
		{
			names:    "yaml yml",
			kinds:    "true false null yes no on off",
			comments: hash,
			quotes:   `"'`,
			extra:    "-",
		},
		{
			names:    "toml ini cfg conf properties",
			kinds:    "true false",
			comments: []string{"#", ";"},
			blocks:   []span{tripleD, tripleS},
			quotes:   `"'`,
			extra:    "-",
		},
		{
			names: "html xml svg xhtml vue svelte htm",
			keywords: "a body button div form h1 h2 h3 head html img input label li link meta ol option p script select span style " +
				"table td th title tr ul",
			kinds:  "class id href src type name value rel lang charset content",
			blocks: []span{{"<!--", "-->", text.Comment}},
			quotes: `"`,
			extra:  "-",
		},
		{
			names:    "css scss sass less",
			keywords: "@media @import @keyframes @supports @font-face @include @mixin @use @layer !important",
			kinds:    "auto none inherit initial flex grid block inline absolute relative fixed sticky solid",
			comments: slashes,
			blocks:   []span{cComment},
			quotes:   `"'`,
			extra:    "-@!#",
		},
		{
			names:    "lua",
			keywords: "and break do else elseif end for function goto if in local not or repeat return then until while",
			kinds:    "true false nil self print pairs ipairs require type tostring tonumber",
			comments: dashes,
			blocks:   []span{{"--[[", "]]", text.Comment}, {"[[", "]]", text.String}},
			quotes:   `"'`,
		},
		{
			names: "haskell hs",
			keywords: "as case class data default deriving do else family forall foreign hiding if import in infix infixl infixr " +
				"instance let module newtype of qualified then type where",
			kinds:     "Bool Char Double Either False Float IO Int Integer Just Left Map Maybe Nothing Ordering Right String True",
			comments:  dashes,
			blocks:    []span{{"{-", "-}", text.Comment}},
			quotes:    `"'`,
			quoteByte: true,
		},
		{
			names: "elixir ex exs",
			keywords: "after alias and case catch cond def defimpl defmacro defmodule defp defprotocol defstruct do else end fn " +
				"for if import in not or quote raise receive require rescue try unless unquote use when with",
			kinds:    "true false nil self",
			comments: hash,
			blocks:   []span{tripleD},
			quotes:   `"'`,
			extra:    "@?!:",
		},
		{
			names: "zig",
			keywords: "align allowzero and anyframe asm async await break callconv catch comptime const continue defer else enum " +
				"errdefer error export extern fn for if inline linksection noalias nosuspend or orelse packed pub resume " +
				"return struct suspend switch test threadlocal try union unreachable usingnamespace var volatile while",
			kinds: "anyerror anyopaque anytype bool f32 f64 i8 i16 i32 i64 isize noreturn type u8 u16 u32 u64 usize void true " +
				"false null undefined",
			comments: slashes,
			quotes:   `"'`,
			extra:    "@",
		},
		{
			names: "perl pl pm",
			keywords: "and cmp continue do else elsif eq for foreach ge given gt if last le local lt my ne next no not or our " +
				"package redo require return sub unless until use when while xor",
			kinds:    "die print printf push pop shift say split join keys values undef scalar",
			comments: hash,
			quotes:   `"'`,
			extra:    "$@%",
		},
		{
			names: "dockerfile docker containerfile",
			keywords: "add arg as cmd copy entrypoint env expose from healthcheck label maintainer onbuild run shell stopsignal " +
				"user volume workdir",
			comments: hash,
			quotes:   `"'`,
			fold:     true,
		},
		{
			names:    "makefile make mk cmake",
			keywords: "define else endef endif export ifdef ifeq ifndef ifneq include override unexport vpath",
			comments: hash,
			quotes:   `"'`,
			extra:    "$-.",
		},
		{
			names:    "terraform tf hcl",
			keywords: "data for for_each if in locals module output provider resource terraform variable",
			kinds:    "true false null any bool list map number object set string var local each count",
			comments: []string{"#", "//"},
			blocks:   []span{cComment},
			quotes:   `"`,
			extra:    "-",
		},
		{
			names: "protobuf proto graphql gql",
			keywords: "enum extend fragment import input interface message mutation oneof option package query reserved returns " +
				"rpc schema service subscription syntax type union",
			kinds: "bool bytes double fixed32 fixed64 float int32 int64 map repeated string uint32 uint64 Boolean Float ID Int " +
				"String true false",
			comments: []string{"//", "#"},
			blocks:   []span{cComment, tripleD},
			quotes:   `"`,
		},
		{names: "diff patch udiff", diff: true},
	}
}
