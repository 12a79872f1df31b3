package coding

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/tools"
)

var update = flag.Bool("update", false, "rewrite the table of tools in docs/tools.md")

// shownBy names a test for each tool of the table.
var shownBy = map[string]string{
	"apply_patch":        "TestApplyPatch_AddsUpdatesMovesAndDeletes",
	"ask_user":           "TestAsk_SeveralQuestionsWithOptions",
	"codebase_search":    "TestSearch_RanksFileParts",
	"config":             "TestConfigTool_ChangesOnlyWithAnApprovalOfTheDiff",
	"cron_create":        "TestSchedule_RunsJobsReportsMissedOnesAndSurvivesARestart",
	"cron_delete":        "TestSchedule_RunsJobsReportsMissedOnesAndSurvivesARestart",
	"cron_list":          "TestSchedule_RunsJobsReportsMissedOnesAndSurvivesARestart",
	"delete_file":        "TestDeleteFile_DeletesFilesAndLinksOnly",
	"display":            "TestDisplay_MessageIsPartOfTheResult",
	"edit_file":          "TestEdit_BytesOutsideTheSpanStay",
	"enter_plan_mode":    "TestPlanMode_BindsTheNextCallAndOnlyTheUserEndsIt",
	"enter_worktree":     "TestWorktree_SessionWorksInItAlsoAfterAResume",
	"exit_plan_mode":     "TestPlanMode_NothingEndsItWithoutTheUsersWord",
	"exit_worktree":      "TestWorktree_SessionWorksInItAlsoAfterAResume",
	"glob":               "TestGlob_ListsMatchesNewestFirst",
	"grep":               "TestGrep_ModesAndOptions",
	"list_dir":           "TestListDir_ListsWithSizesToTheDepthAskedFor",
	"list_mcp_resources": "TestResources_ToolsForTheModel",
	"lsp":                "TestLSP_AcceptsClaudeCodeNames",
	"notebook_edit":      "TestNotebookEdit_ChangesOnlyWhatItMust",
	"read_file":          "TestReadFile_NotebooksAreShownByCells",
	"read_lints":         "TestLints_ShowErrorsInFiles",
	"read_mcp_resource":  "TestResources_ToolsForTheModel",
	"remote_trigger":     "TestTrigger_CallsOnlyConfiguredWebhooks",
	"send_message":       "TestMail_EntersTheConversationOnceBetweenTwoSteps",
	"shell":              "TestShell_IdleTimeoutCountsFromTheLastOutput",
	"shell_input":        "TestBackground_InputOfOtherProgramsNeedsApproval",
	"shell_output":       "TestBackground_TimeoutOfItsOwnEndsIt",
	"shell_stop":         "TestBackground_ThereIsALimitAndEndedOnesMakeRoom",
	"skill":              "TestSkills_ThePromptListsThemAndTheToolLoadsThem",
	"spawn_agent":        "TestSubagent_ResultIsAToolResult",
	"task_create":        "TestTasks_EightAgentsClaimAThousandEachOnce",
	"task_get":           "TestTask_StatusesChangeByTheRulesOnly",
	"task_list":          "TestTask_OwnersAreRespected",
	"task_output":        "TestTeams_ToolsAreOfferedOnlyWhereTheyAreOfUse",
	"task_stop":          "TestTeams_ToolsAreOfferedOnlyWhereTheyAreOfUse",
	"task_update":        "TestTasks_EightAgentsClaimAThousandEachOnce",
	"team_create":        "TestTeam_CreatorLeadsAgentsBelowItOnly",
	"team_delete":        "TestMail_OnlyBetweenMembersOfAnActiveTeam",
	"todo_write":         "TestTodoWrite_AcceptsTheListsOfOtherAgents",
	"tool_search":        "TestDeferred_ToolsAreFoundAndCalled",
	"update_memory":      "TestOpen_MemoryIsInThePromptAndCannotLeaveItsBlock",
	"web_fetch":          "TestFetch_PrivateServersAreNotReached",
	"web_search":         "TestHostedSearch_AnswersAreReadAndSentBack",
	"write_file":         "TestReadBeforeWrite_UnreadFileIsNotChanged",
}

func TestAliases_TheTableOfTheDocumentationIsTrue(t *testing.T) {
	names := map[string][]string{}
	for _, a := range append(NewProfile(ProfileConfig{}).Aliases, tools.SkillAliases()...) {
		if shownBy[a.Tool] == "" {
			t.Errorf("shownBy has no test for %s, which %s stands for", a.Tool, a.Name)
		}
		if name := "`" + a.Name + "`"; !slices.Contains(names[a.Tool], name) {
			names[a.Tool] = append(names[a.Tool], name)
		}
	}
	var b strings.Builder
	for _, own := range slices.Sorted(maps.Keys(shownBy)) {
		slices.Sort(names[own])
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", cmp.Or(strings.Join(names[own], ", "), "–"), own, TierOf(own), shownBy[own])
	}
	const path, head = "../docs/tools.md", "| elsewhere | here | tier | test |\n|---|---|---|---|\n"
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(doc), head)
	if !ok {
		t.Fatal("docs/tools.md has no table of aliases")
	}
	table, after, _ := strings.Cut(rest, "\n\n")
	if table+"\n" == b.String() {
		return
	}
	if !*update {
		t.Fatalf("the table is not up to date; run: go test ./coding -run Aliases -update\n%s", b.String())
	}
	if err := os.WriteFile(path, []byte(before+head+b.String()+"\n"+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
