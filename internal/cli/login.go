package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/internal/chatgpt"
	"github.com/reins-agent/reins/internal/show"
)

func newLogin(h Host) *cobra.Command {
	return group(&cobra.Command{
		Use:   "login",
		Short: "Sign in to a plan that includes models",
	}, newLoginChatGPT(h), newLoginStatus(h))
}

func newLogout(h Host) *cobra.Command {
	return group(&cobra.Command{
		Use:   "logout",
		Short: "Sign out from a plan that includes models",
	}, newLogoutChatGPT(h))
}

func newLoginChatGPT(h Host) *cobra.Command {
	var timeout time.Duration
	var noBrowser, anew bool
	cmd := &cobra.Command{
		Use:   "chatgpt",
		Short: "Sign in with ChatGPT, to use the models of your plan",
		Long: `Sign in with ChatGPT, to use the models of your ChatGPT plan with
"--provider chatgpt". The command opens a page in the browser, where you name
the agent and allow it to use your plan. If the browser runs on another
machine, it cannot open the last page: paste its address into the terminal.

The tokens are saved in the state directory, in a file that only you can read.`,
		Args: wantArgs(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), timeout, errors.New("the time is over; run the command again"))
			defer cancel()
			st, err := h.machine().Account().Login(ctx, chatgpt.Login{
				Open:   func(url string) error { return h.showURL(url, !noBrowser) },
				Pasted: lines(ctx, h),
				Note:   func(text string) { notef(h, "%s", text) },
				New:    anew,
			})
			if err != nil {
				return err
			}
			notef(h, "signed in with ChatGPT as %s; use it with --provider chatgpt", account(st))
			notef(h, "requests use your ChatGPT plan; see and limit the usage at %s", chatgpt.UsageURL)
			return nil
		},
	}
	f := cmd.Flags()
	f.DurationVar(&timeout, "timeout", 5*time.Minute, "how long to wait for the browser")
	f.BoolVar(&noBrowser, "no-browser", false, "only print the URL to open")
	f.BoolVar(&anew, "new", false, "register Reins again, for another account or workspace")
	return cmd
}

// showURL prints a URL, and opens it in the browser. A browser that cannot be started is no error. The URL is printed as it
// is: it has no secrets, and redaction could damage it.
func (h Host) showURL(url string, start bool) error {
	notef(h, "continue with ChatGPT at this URL; if the browser is on another machine, paste the address of the last page here:")
	if _, err := fmt.Fprintln(h.Stderr, url); err != nil {
		return err
	}
	if start {
		open := h.openURL
		if open == nil {
			open = openBrowser
		}
		if err := open(url); err != nil {
			notef(h, "cannot open the browser: %v", err)
		}
	}
	return nil
}

// openBrowser opens a URL in the user's browser. It does not wait for it.
func openBrowser(url string) error {
	args := []string{"xdg-open", url}
	switch runtime.GOOS {
	case "darwin":
		args[0] = "open"
	case "windows":
		args = []string{"rundll32", "url.dll,FileProtocolHandler", url}
	}
	cmd := exec.Command(args[0], args[1:]...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	return nil
}

// lines returns the lines of standard input until ctx ends.
func lines(ctx context.Context, h Host) <-chan string {
	out := make(chan string)
	go func() {
		defer close(out)
		for in := bufio.NewScanner(h.Stdin); in.Scan(); {
			select {
			case out <- in.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

func newLoginStatus(h Host) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show which plans you are signed in to",
		Args:  wantArgs(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			st, err := h.machine().Account().Status()
			switch {
			case err != nil:
				return err
			case asJSON:
				return printJSON(h.Stdout, map[string]any{"provider": chatgpt.Name, "signed_in": st.SignedIn, "account": st.Email})
			case !st.SignedIn:
				_, err = fmt.Fprintln(h.Stdout, "chatgpt: not signed in; run `reins login chatgpt`")
			default:
				_, err = fmt.Fprintf(
					h.Stdout,
					"chatgpt: signed in as %s, until %s if it is not used\n",
					account(st),
					st.Until.Local().Format(time.DateOnly),
				)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newLogoutChatGPT(h Host) *cobra.Command {
	return &cobra.Command{
		Use:   "chatgpt",
		Short: "Sign out from ChatGPT",
		Long: `Sign out from ChatGPT: delete the tokens on this machine and make them invalid.
The registration of Reins with your account remains for a later sign-in; remove
it in the settings of ChatGPT.`,
		Args: wantArgs(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			had, revoked, err := h.machine().Account().Logout(cmd.Context())
			switch {
			case err != nil:
				return err
			case !had:
				notef(h, "you were not signed in with ChatGPT")
			case !revoked:
				notef(
					h,
					"deleted the tokens, but OpenAI did not confirm that they are invalid; to be sure, disconnect Reins in the "+
						"settings of ChatGPT",
				)
			default:
				notef(h, "signed out from ChatGPT")
			}
			return nil
		},
	}
}

// account returns the name of an account, as it can be printed.
func account(st chatgpt.Status) string {
	if st.Email == "" {
		return "an account without an email address"
	}
	return show.OneLine(st.Email)
}
