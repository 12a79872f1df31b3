//go:build unix

package gitrisk_test

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// attacks are the ways in which a repository makes reading commands run a program.
var attacks = map[string]struct {
	plan  func(p *project)
	below string // the directory in which git runs
	git   string // the command that runs the canary; status by default
	why   string // substring of the reason
}{
	"fsmonitor":            {plan: func(p *project) { p.config("core.fsmonitor", p.canary) }, why: "core.fsmonitor"},
	"fsmonitor, ls-files":  {plan: func(p *project) { p.config("core.fsmonitor", p.canary) }, git: "ls-files -m", why: "core.fsmonitor"},
	"odd spelling":         {plan: (*project).oddSpelling, why: "core.fsmonitor"},
	"pager":                {plan: func(p *project) { p.config("core.pager", p.canary) }, git: "log", why: "core.pager"},
	"pager of status":      {plan: func(p *project) { p.config("pager.status", p.canary) }, why: "pager.status"},
	"pager of branch":      {plan: func(p *project) { p.config("pager.branch", p.canary) }, git: "branch", why: "pager.branch"},
	"external diff":        {plan: func(p *project) { p.config("diff.external", p.canary) }, git: "diff", why: "diff.external"},
	"diff driver":          {plan: func(p *project) { p.driver("command") }, git: "diff", why: "diff.x.command"},
	"textconv, diff":       {plan: func(p *project) { p.driver("textconv") }, git: "diff", why: "diff.x.textconv"},
	"textconv, log":        {plan: func(p *project) { p.driver("textconv") }, git: "log -p", why: "diff.x.textconv"},
	"textconv, show":       {plan: func(p *project) { p.driver("textconv") }, git: "show HEAD~1", why: "diff.x.textconv"},
	"textconv, blame":      {plan: func(p *project) { p.driver("textconv") }, git: "blame a.txt", why: "diff.x.textconv"},
	"clean filter":         {plan: func(p *project) { p.filter("clean") }, why: "filter.x.clean"},
	"clean filter, blame":  {plan: func(p *project) { p.filter("clean") }, git: "blame a.txt", why: "filter.x.clean"},
	"process filter":       {plan: func(p *project) { p.filter("process") }, why: "filter.x.process"},
	"merge driver":         {plan: (*project).mergeDriver, git: "show --remerge-diff main", why: "merge.x.driver"},
	"merge driver, tree":   {plan: (*project).mergeDriver, git: "merge-tree main^1 side", why: "merge.x.driver"},
	"signature":            {plan: func(p *project) { p.signed("gpg.program", "log.showSignature=true") }, git: "log", why: "gpg.program"},
	"signature by format":  {plan: func(p *project) { p.signed("gpg.openpgp.program", "format.pretty=%G?") }, git: "log", why: "gpg.openpgp.program"},
	"alternates":           {plan: (*project).alternates, git: "log --alternate-refs", why: "core.alternaterefscommand"},
	"ssh":                  {plan: func(p *project) { p.config("core.sshCommand", p.canary); p.missing("ssh://host/x") }, git: "log", why: "core.sshcommand"},
	"git proxy":            {plan: func(p *project) { p.config("core.gitProxy", p.canary); p.missing("git://host/x") }, git: "log", why: "partial clone of"},
	"upload-pack":          {plan: func(p *project) { p.config("remote.origin.uploadpack", p.canary); p.missing(p.base) }, git: "log", why: "partial clone of"},
	"ext transport":        {plan: func(p *project) { p.config("protocol.ext.allow", "always"); p.missing("ext::" + p.canary) }, git: "log", why: "partial clone of"},
	"ext transport by vcs": {plan: (*project).vcs, git: "log", why: "partial clone of"},
	"rewritten URL":        {plan: (*project).rewritten, git: "log", why: "in a partial clone"},
	"remote is an option":  {plan: (*project).optionRemote, git: "log", why: "partial clone of"},
	"remote in a file":     {plan: (*project).remoteFile, git: "log", why: "partial clone of"},
	"hook":                 {plan: func(p *project) { p.hook(filepath.Join(p.dir, ".git/hooks"), "post-index-change") }, why: "post-index-change"},
	"hook elsewhere": {plan: func(p *project) {
		p.config("core.hooksPath", "tools")
		p.hook(filepath.Join(p.dir, "tools"), "post-index-change")
	}, below: "sub", why: "tools/post-index-change"},
	"hook, describe":      {plan: (*project).described, git: "describe --all --dirty", why: "post-index-change"},
	"include":             {plan: (*project).include, why: "include.path"},
	"conditional include": {plan: (*project).includeIf, why: "includeif"},
	"worktree's settings": {plan: (*project).worktreeConfig, why: "core.fsmonitor"},
	"linked worktree":     {plan: (*project).linked, below: "../linked", why: "core.fsmonitor"},
	"hook of a worktree":  {plan: (*project).linkedHook, below: "../linked", why: "post-index-change"},
	"forged .git file":    {plan: (*project).forged, below: "forged", why: "core.fsmonitor"},
	"bare repository":     {plan: (*project).bare, below: "docs", why: "core.fsmonitor"},
	"below a bare one":    {plan: (*project).bare, below: "docs/refs/heads", why: "core.fsmonitor"},
	"bare with commondir": {plan: (*project).bareCommon, below: "page", git: "log", why: "core.pager"},
	"submodule":           {plan: (*project).evilSubmodule, why: "core.fsmonitor"},
	"submodule, diff":     {plan: (*project).evilSubmodule, git: "diff", why: "core.fsmonitor"},
	"inside a submodule":  {plan: (*project).evilSubmodule, below: "lib/inner", why: "core.fsmonitor"},
	"link not declared":   {plan: (*project).gitlink, why: "core.fsmonitor"},
	"version 4":           {plan: func(p *project) { p.gitlink(); p.git(p.dir, "update-index", "--index-version", "4") }, why: "core.fsmonitor"},
	"split index":         {plan: func(p *project) { p.gitlink(); p.git(p.dir, "update-index", "--split-index") }, why: "split"},
	"nested submodule":    {plan: (*project).nestedSubmodule, why: "core.fsmonitor"},
	"sparse index":        {plan: (*project).sparse, why: "sparse index"},
	"SHA-256":             {plan: (*project).sha256, why: "core.fsmonitor"},
	"HEAD of no use":      {plan: (*project).brokenInner, below: "inner", why: "core.fsmonitor"},
	"objects of no use":   {plan: (*project).noObjects, below: "inner", why: "core.fsmonitor"},
	"old submodule diff":  {plan: (*project).oldSubmodule, git: "log -p", why: "diff.submodule"},
	"modules only":        {plan: (*project).modulesOnly, git: "log -p", why: "diff.external"},
}

func (p *project) driver(kind string) {
	p.attributes("*.txt diff=x\n")
	p.config("diff.x."+kind, p.canary)
}

func (p *project) filter(kind string) {
	p.attributes("*.txt filter=x\n")
	p.config("filter.x."+kind, p.canary)
}

func (p *project) oddSpelling() {
	name := filepath.Join(p.dir, ".git/config")
	b, err := os.ReadFile(name)
	if err != nil {
		p.t.Fatal(err)
	}
	p.put(name, string(b)+"[user] name = x ; [core]\n\t[CORE] FsMonitor = \\\n  \""+p.canary[:5]+"\"\\\n"+p.canary[5:]+" # comment\r\n", 0o644)
}

func (p *project) mergeDriver() {
	p.attributes("*.txt merge=x\n")
	p.config("merge.x.driver", p.canary)
}

func (p *project) signed(program, setting string) {
	p.config(program, p.canary)
	key, value, _ := strings.Cut(setting, "=")
	p.config(key, value)
	p.forge("")
}

func (p *project) alternates() {
	p.write(p.dir, ".git/objects/info/alternates", filepath.Join(p.dir, ".git/objects")+"2\n")
	p.copyGit("../other")
	p.write(p.dir, ".git/objects/info/alternates", filepath.Join(p.base, "other/objects")+"\n")
	p.config("core.alternateRefsCommand", p.canary)
}

func (p *project) vcs() {
	p.config("protocol.ext.allow", "always")
	p.config("remote.origin.vcs", "ext")
	p.missing(p.canary)
}

func (p *project) rewritten() {
	p.config("protocol.ext.allow", "always")
	p.config("url.ext::"+p.canary+" .insteadOf", "https://host/")
	p.missing("https://host/x")
}

// optionRemote makes the remote's name an option to git fetch.
func (p *project) optionRemote() {
	p.missing("https://host/x")
	p.config("extensions.partialClone", "--upload-pack="+p.canary)
	p.config("remote.origin.url", p.base)
}

func (p *project) remoteFile() {
	p.missing("https://host/x")
	p.config("--unset", "remote.origin.url")
	p.write(p.dir, ".git/remotes/origin", "URL: ext::"+p.canary+"\n")
	p.config("protocol.ext.allow", "always")
}

func (p *project) described() { p.hook(filepath.Join(p.dir, ".git/hooks"), "post-index-change") }

func (p *project) include() {
	p.write(p.dir, "settings", "[core]\nfsmonitor = "+p.canary+"\n")
	p.config("include.path", "../settings")
}

func (p *project) includeIf() {
	p.write(p.dir, "settings", "[core]\nfsmonitor = "+p.canary+"\n")
	p.config("includeIf.onbranch:main.path", "../settings")
}

func (p *project) worktreeConfig() {
	p.config("extensions.worktreeConfig", "true")
	p.git(p.dir, "config", "--worktree", "core.fsmonitor", p.canary)
}

func (p *project) linked() {
	p.git(p.dir, "worktree", "add", "-q", "-b", "other", "../linked")
	p.config("core.fsmonitor", p.canary)
}

func (p *project) linkedHook() {
	p.git(p.dir, "worktree", "add", "-q", "-b", "other", "../linked")
	p.config("core.hooksPath", "tools")
	p.dir = filepath.Join(p.base, "linked")
	p.hook(filepath.Join(p.dir, "tools"), "post-index-change")
}

func (p *project) forged() {
	p.copyGit("assets")
	p.write(p.dir, "forged/.git", "gitdir: ../assets\n")
	p.git(filepath.Join(p.dir, "forged"), "config", "core.fsmonitor", p.canary)
}

// bare adds a directory that looks like a bare repository, as a clone can bring it.
func (p *project) bare() {
	p.copyGit("docs")
	p.git(p.dir, "--git-dir=docs", "config", "core.worktree", ".")
	p.git(p.dir, "--git-dir=docs", "config", "core.fsmonitor", p.canary)
}

// bareCommon adds a directory that looks like a linked worktree's repository.
func (p *project) bareCommon() {
	p.copyGit("docs")
	p.git(p.dir, "--git-dir=docs", "config", "core.pager", p.canary)
	p.write(p.dir, "page/HEAD", "ref: refs/heads/main\n")
	p.write(p.dir, "page/commondir", "../docs\n")
}

func (p *project) evilSubmodule() {
	inner := p.submodule("lib/inner")
	p.git(inner, "config", "core.fsmonitor", p.canary)
}

// gitlink adds a nested repository to the index without declaring it in .gitmodules.
func (p *project) gitlink() {
	inner := filepath.Join(p.dir, "sub/inner")
	p.fill(inner)
	p.git(p.dir, "add", "sub/inner")
	p.git(inner, "config", "core.fsmonitor", p.canary)
}

func (p *project) nestedSubmodule() {
	middle := p.submodule("lib")
	inner := filepath.Join(middle, "inner")
	p.fill(inner)
	p.git(middle, "add", "inner")
	p.git(inner, "config", "core.fsmonitor", p.canary)
}

// sparse adds a nested repository below a directory that a forged sparse index does not list.
func (p *project) sparse() {
	p.sparseOnly()
	name := filepath.Join(p.dir, ".git/index")
	index, err := os.ReadFile(name)
	if err != nil {
		p.t.Fatal(err)
	}
	inner := filepath.Join(p.dir, "gone/inner")
	p.fill(inner)
	p.git(inner, "config", "core.fsmonitor", p.canary)
	old := p.git(p.dir, "rev-parse", "HEAD:gone")
	tree := p.object("tree", "160000 inner\x00"+raw(p.t, p.git(inner, "rev-parse", "HEAD")))
	if n := strings.Count(string(index), raw(p.t, old)); n == 0 {
		p.t.Fatal("the directory is not in the index")
	}
	p.put(name, strings.ReplaceAll(string(index), raw(p.t, old), raw(p.t, tree)), 0o644)
}

// raw decodes an object name.
func raw(t testing.TB, id string) string {
	t.Helper()
	b, err := hex.DecodeString(id)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (p *project) sha256() {
	p.dir = filepath.Join(p.base, "sha256")
	p.fill(p.dir)
	inner := filepath.Join(p.dir, "inner")
	p.fill(inner)
	p.git(p.dir, "add", "inner")
	p.git(inner, "config", "core.fsmonitor", p.canary)
}

// brokenInner adds a .git directory that git skips because its HEAD is invalid.
func (p *project) brokenInner() {
	p.git(p.dir, "init", "-q", "inner")
	p.write(p.dir, "inner/.git/HEAD", "nothing\n")
	p.config("core.fsmonitor", p.canary)
}

func (p *project) noObjects() {
	p.git(p.dir, "init", "-q", "inner")
	if err := os.RemoveAll(filepath.Join(p.dir, "inner/.git/objects")); err != nil {
		p.t.Fatal(err)
	}
	p.config("core.fsmonitor", p.canary)
}

// oldSubmodule has a nested repository that only old commits name.
func (p *project) oldSubmodule() {
	p.gitlink()
	inner := filepath.Join(p.dir, "sub/inner")
	p.git(inner, "config", "--unset", "core.fsmonitor")
	p.git(p.dir, "commit", "-qm", "link")
	p.git(inner, "commit", "-qam", "more")
	p.git(p.dir, "commit", "-qam", "new link")
	p.git(p.dir, "rm", "-q", "--cached", "sub/inner")
	p.git(p.dir, "commit", "-qm", "unlink")
	p.git(inner, "config", "diff.external", p.canary)
	p.config("diff.submodule", "diff")
}

// modulesOnly has a submodule without a work tree. The user shows differences in submodules.
func (p *project) modulesOnly() {
	inner := p.submodule("inner")
	p.write(inner, "a.txt", "two\n")
	p.git(inner, "commit", "-qam", "more")
	p.git(p.dir, "commit", "-qam", "new link")
	p.git(p.base, "config", "--global", "diff.submodule", "diff")
	p.git(inner, "config", "diff.external", p.canary)
	p.git(inner, "config", "--unset", "core.worktree")
	if err := os.RemoveAll(inner); err != nil {
		p.t.Fatal(err)
	}
}

func TestRuns_ReportsEveryWayToRunAProgram(t *testing.T) {
	for name, a := range attacks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			p.write(p.dir, "sub/x", "")
			if why := p.runs(""); why != "" {
				t.Fatalf("an ordinary repository is reported: %s", why)
			}
			a.plan(p)
			os.Remove(p.mark)
			why := p.runs(a.below)
			if _, err := os.Stat(p.mark); err == nil {
				t.Error("Runs ran the canary")
			}
			if !strings.Contains(why, a.why) {
				t.Errorf("got %q, want %q", why, a.why)
			}
			if a.git == "" {
				a.git = "status"
			}
			if p.show(filepath.Join(p.dir, a.below), a.git) == "" {
				t.Errorf("the attack does not work: git %s runs nothing", a.git)
			}
		})
	}
}

// reading are the commands that the policy treats as reading.
var reading = strings.Split(`status
status -uall
log -p
log --stat --graph
diff
diff HEAD
diff --cached
show
show HEAD:a.txt
blame a.txt
grep o
grep --recurse-submodules o
ls-files -m -o
ls-files -s --recurse-submodules
ls-tree -r HEAD
branch -a -vv
tag -l
describe --all --dirty
diff-files
diff-index HEAD
diff-tree -p HEAD
rev-list --objects HEAD
rev-parse --show-toplevel
for-each-ref
shortlog HEAD
stash list
reflog
remote -v
worktree list
notes
cat-file -p HEAD
check-attr -a a.txt
check-ignore a.txt
merge-tree HEAD HEAD
range-diff HEAD~1...HEAD
format-patch --stdout HEAD~1
config --list
count-objects
var GIT_EDITOR
show-branch
name-rev HEAD`, "\n")

// harmless are ordinary repositories.
var harmless = map[string]struct {
	plan  func(p *project)
	below string
}{
	"new":                  {plan: func(*project) {}},
	"below":                {plan: func(*project) {}, below: "sub"},
	"no repository":        {plan: func(p *project) { p.write(p.base, "plain/x", "") }, below: "../plain"},
	"clone":                {plan: func(p *project) { p.git(p.base, "clone", "-q", "repo", "clone") }, below: "../clone"},
	"bare clone":           {plan: func(p *project) { p.git(p.base, "clone", "-q", "--bare", "repo", "clone") }, below: "../clone"},
	"linked worktree":      {plan: func(p *project) { p.git(p.dir, "worktree", "add", "-q", "-b", "other", "../linked") }, below: "../linked"},
	"submodule":            {plan: func(p *project) { p.submodule("lib/inner") }},
	"inside a submodule":   {plan: func(p *project) { p.submodule("lib/inner") }, below: "lib/inner"},
	"submodule's worktree": {plan: func(p *project) { p.git(p.submodule("inner"), "worktree", "add", "-q", "-b", "o", p.base+"/linked") }, below: "../linked"},
	"submodule is gone":    {plan: func(p *project) { p.submodule("inner"); p.git(p.dir, "submodule", "-q", "deinit", "-f", "inner") }},
	"submodule is a file":  {plan: (*project).fileSubmodule},
	"inside .git":          {plan: func(p *project) { p.submodule("inner") }, below: ".git"},
	"inside .git/modules":  {plan: func(p *project) { p.submodule("inner") }, below: ".git/modules/inner"},
	"detached":             {plan: func(p *project) { p.git(p.dir, "checkout", "-q", "--detach") }},
	"incomplete":           {plan: func(p *project) { p.write(p.base, "plain/.git/config", "[core]\n") }, below: "../plain"},
	"no commits":           {plan: func(p *project) { p.git(p.base, "init", "-q", "empty") }, below: "../empty"},
	"many entries":         {plan: func(p *project) { p.many(30_000) }},
	"many, offset table":   {plan: func(p *project) { p.config("index.threads", "true"); p.many(30_000) }},
	"many, version 4":      {plan: func(p *project) { p.config("index.threads", "true"); p.config("index.version", "4"); p.many(30_000) }},
	"user's filter":        {plan: (*project).userFilter},
	"partial clone":        {plan: (*project).partial, below: "../clone"},
	"hook without x":       {plan: func(p *project) { p.write(p.dir, ".git/hooks/post-index-change", "#!"+p.canary) }},
	"booleans":             {plan: func(p *project) { p.config("pager.log", "false"); p.config("core.fsmonitor", "false") }},
	"sparse index":         {plan: (*project).sparseOnly},
}

func (p *project) fileSubmodule() {
	inner := p.submodule("inner")
	if err := os.RemoveAll(inner); err != nil {
		p.t.Fatal(err)
	}
	p.write(p.dir, "inner", "text")
}

func (p *project) many(n int) {
	var b strings.Builder
	id := p.git(p.dir, "rev-parse", "HEAD:a.txt")
	for i := range n {
		fmt.Fprintf(&b, "100644 %s\tdir%d/file%d.txt\n", id, i/100, i)
	}
	cmd := p.command(p.dir, "update-index", "--index-info")
	cmd.Stdin = strings.NewReader(b.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("%v: %s", err, out)
	}
}

// userFilter has a filter in the user's configuration, as git-lfs does.
func (p *project) userFilter() {
	p.attributes("*.txt filter=lfs diff=lfs\n")
	p.git(p.base, "config", "--global", "filter.lfs.clean", "cat")
	p.config("lfs.repositoryformatversion", "0")
}

func (p *project) partial() {
	p.git(p.dir, "config", "uploadpack.allowFilter", "true")
	p.git(p.base, "clone", "-q", "--filter=blob:none", "file://"+p.dir, "clone")
	p.git(filepath.Join(p.base, "clone"), "config", "remote.origin.url", "git@example.invalid:x/y.git")
}

func (p *project) sparseOnly() {
	p.write(p.dir, "kept/x", "x")
	p.write(p.dir, "gone/x", "x")
	p.git(p.dir, "add", "kept", "gone")
	p.git(p.dir, "commit", "-qm", "dirs")
	p.git(p.dir, "sparse-checkout", "set", "--cone", "--sparse-index", "kept")
	if out := p.git(p.dir, "ls-files", "--sparse"); !strings.Contains(out, "gone/\n") {
		p.t.Fatalf("the index is not sparse: %s", out)
	}
}

func TestRuns_AllowsOrdinaryRepositories(t *testing.T) {
	for name, h := range harmless {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			p.write(p.dir, "sub/x", "")
			h.plan(p)
			if why := p.runs(h.below); why != "" {
				t.Errorf("reported: %s", why)
			}
		})
	}
}

// unused are settings that name programs, which reading commands do not run.
var unused = strings.Fields(`core.editor sequence.editor core.sshCommand core.askPass core.gitProxy credential.helper
	remote.origin.uploadpack remote.origin.receivepack remote.origin.vcs alias.status alias.log
	interactive.diffFilter trailer.x.command trailer.x.cmd uploadpack.packObjectsHook submodule.inner.update
	mergetool.x.cmd mergetool.x.path difftool.x.cmd difftool.x.path guitool.x.cmd merge.tool diff.tool
	gpg.ssh.defaultKeyCommand gc.recentObjectsHook tar.x.command sendemail.toCmd sendemail.ccCmd imap.tunnel
	man.x.cmd browser.x.cmd web.browser instaweb.httpd core.attributesFile core.excludesFile`)

// otherHooks are the hooks that reading commands do not run.
var otherHooks = strings.Fields(`applypatch-msg commit-msg fsmonitor-watchman post-applypatch post-checkout post-commit
	post-merge post-rewrite pre-auto-gc pre-commit pre-merge-commit pre-push pre-rebase prepare-commit-msg
	reference-transaction`)

// The repository has every setting and hook that Runs does not report, and a hostile repository that is not
// in the index.
func TestRuns_OmitsOnlySettingsThatReadingCommandsIgnore(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.submodule("inner")
	untracked := filepath.Join(p.dir, "untracked")
	p.fill(untracked)
	p.git(untracked, "config", "core.fsmonitor", p.canary)
	for _, key := range unused {
		p.config(key, p.canary)
	}
	p.config("alias.status", "!"+p.canary)
	p.config("submodule.inner.update", "!"+p.canary)
	p.config("gc.auto", "1")
	for _, name := range otherHooks {
		p.put(filepath.Join(p.dir, ".git/hooks", name), "#!/bin/sh\nexec "+p.canary+"\n", 0o755)
	}
	if why := p.runs(""); why != "" {
		t.Errorf("reported: %s", why)
	}
	for _, line := range reading {
		if ran := p.show(p.dir, line); ran != "" {
			t.Errorf("git %s ran the canary: %s", line, ran)
		}
	}
	if ran := p.show(p.dir, "commit --allow-empty -m x"); ran == "" {
		t.Error("the canary does not work: git commit runs nothing")
	}
}

func TestRuns_ReportsUnreadableFiles(t *testing.T) {
	for name, c := range map[string]struct {
		plan func(p *project)
		why  string
	}{
		"pipe as configuration": {func(p *project) { p.pipe(".git/config.worktree") }, "not a regular file"},
		"pipe as .git":          {func(p *project) { os.RemoveAll(filepath.Join(p.dir, ".git")); p.pipe(".git") }, "not a regular file"},
		"pipe as index":         {func(p *project) { os.Remove(filepath.Join(p.dir, ".git/index")); p.pipe(".git/index") }, "not a regular file"},
		"syntax":                {func(p *project) { p.write(p.dir, ".git/config", "[core\n") }, "line 1"},
		"large":                 {func(p *project) { p.write(p.dir, ".git/config", strings.Repeat("#\n", 1<<20)) }, "larger"},
		"NUL":                   {func(p *project) { p.write(p.dir, ".git/config", "[core]\x00") }, "NUL"},
		"index":                 {func(p *project) { p.write(p.dir, ".git/index", "DIRC garbage that is long enough to be an index") }, "index"},
		"empty .git file":       {func(p *project) { os.RemoveAll(filepath.Join(p.dir, ".git")); p.write(p.dir, ".git", "") }, "does not name"},
		"work tree elsewhere":   {func(p *project) { p.config("core.worktree", p.base) }, "core.worktree"},
		"hash":                  {func(p *project) { p.config("extensions.objectFormat", "sha256") }, "objectFormat"},
		"hooks at home":         {func(p *project) { p.config("core.hooksPath", "~/hooks") }, "core.hookspath"},
		"hook of a fetch": {func(p *project) {
			p.missing("https://host/x")
			p.hook(filepath.Join(p.dir, ".git/hooks"), "pre-auto-gc")
		}, "pre-auto-gc"},
		"configured hook":       {func(p *project) { p.config("hook.x.command", p.canary) }, "hook.x.command"},       // git 2.54
		"deprecated command":    {func(p *project) { p.config("alias.whatchanged", "!"+p.canary) }, "whatchanged"},   // git 2.52
		"submodule's directory": {func(p *project) { p.config("submodule.x.gitdir", "docs") }, "submodule.x.gitdir"}, // git 2.53
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			c.plan(p)
			if why := p.runs(""); !strings.Contains(why, c.why) {
				t.Errorf("got %q, want %q", why, c.why)
			}
		})
	}
	t.Run("no directory", func(t *testing.T) {
		if why := newProject(t).runs("none"); why == "" {
			t.Error("got no reason")
		}
	})
}

func (p *project) pipe(name string) {
	p.t.Helper()
	if err := syscall.Mkfifo(filepath.Join(p.dir, name), 0o600); err != nil {
		p.t.Fatal(err)
	}
}
