// Records how Go's standard library words its failures. Usage: go run record.go DOORS > rows
// where DOORS is what `python failing.py` printed. Each line it writes is [label, by, said].
package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type given struct {
	Doors   map[string]string
	Answers map[string]struct {
		Status int
		Label  string
	}
}

var by = "Go " + strings.TrimPrefix(runtime.Version(), "go") + ", "

func keep(label, pkg string, err error) {
	if err == nil {
		fmt.Fprintln(os.Stderr, "no failure:", pkg, label)
		return
	}
	line, _ := json.Marshal([]string{label, by + pkg, err.Error()})
	fmt.Println(string(line))
}

func caught(work func()) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	work()
	return nil
}

func main() {
	var g given
	if err := json.Unmarshal([]byte(os.Args[1]), &g); err != nil {
		panic(err)
	}
	client := &http.Client{Timeout: 400 * time.Millisecond}
	get := func(address string) error {
		answer, err := client.Get(address)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode >= 400 {
			return fmt.Errorf("unexpected status: %s", answer.Status)
		}
		return nil
	}
	for _, door := range []string{"closed", "reset", "empty", "hang"} {
		keep("passing", "net/http", get("http://"+g.Doors[door]+"/notes"))
		keep("passing", "net/http", fmt.Errorf("failed to read note: %w", get("http://"+g.Doors[door]+"/notes/17")))
	}
	keep("own-fault", "net/http", get("https://"+g.Doors["tls"]+"/notes"))
	keep("own-fault", "net/http", get("https://"+g.Doors["html"]+"/notes"))
	keep("own-fault", "net/http", get("http://"+g.Doors["html"]+"/notes"))
	keep("passing", "net/http", get("http://notes.invalid/"))
	keep("own-fault", "net/http", get("http://"+g.Doors["http"]+"/loop/"))
	keep("bad-argument", "net/http", get("notes/17"))
	statuses := map[int]string{400: "bad-argument", 401: "who-are-you", 403: "not-allowed", 404: "absent", 410: "absent",
		422: "bad-argument", 429: "passing", 500: "own-fault", 502: "passing", 503: "passing", 504: "passing"}
	for status, label := range statuses {
		keep(label, "net/http", get(fmt.Sprintf("http://%s/n/%d/notes", g.Doors["http"], status)))
	}
	for _, name := range []string{"s3-key", "kube-pod", "kube-denied", "kube-login", "ddb-rate", "problem-denied", "vault-sealed"} {
		answer, err := client.Get("http://" + g.Doors["http"] + "/s/" + name)
		if err != nil {
			panic(err)
		}
		body, _ := io.ReadAll(answer.Body)
		keep(g.Answers[name].Label, "net/http", fmt.Errorf("api returned %d: %s", answer.StatusCode, body))
	}
	short, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	<-short.Done()
	keep("passing", "context", short.Err())
	_, err := net.DialTimeout("tcp", g.Doors["closed"], time.Second)
	keep("passing", "net", err)
	_, err = net.LookupHost("notes.invalid")
	keep("passing", "net", err)

	_, err = os.Open("/srv/notes/plan.md")
	keep("absent", "os", err)
	_, err = os.ReadDir("/srv/notes")
	keep("absent", "os", err)
	keep("own-fault", "os", os.WriteFile("/dev/full", []byte("x"), 0o600))
	keep("own-fault", "os/exec", exec.Command("no-such-program").Run())
	keep("own-fault", "os/exec", exec.Command("false").Run())
	keep("not-allowed", "os", &os.PathError{Op: "open", Path: "/srv/notes/secret.md", Err: syscall.EACCES})
	keep("not-allowed", "os", &os.PathError{Op: "unlink", Path: "/srv/notes/secret.md", Err: syscall.EPERM})
	for number, label := range map[syscall.Errno]string{syscall.EAGAIN: "passing", syscall.EBUSY: "passing", syscall.ENOSPC: "own-fault",
		syscall.EMFILE: "passing", syscall.EIO: "own-fault", syscall.ENAMETOOLONG: "bad-argument", syscall.EINVAL: "bad-argument"} {
		keep(label, "os", &os.PathError{Op: "read", Path: "/srv/notes/17.md", Err: number})
	}
	for number, label := range map[syscall.Errno]string{syscall.EHOSTUNREACH: "passing", syscall.ENETUNREACH: "passing", syscall.ECONNRESET: "passing", syscall.EPIPE: "passing", syscall.ETIMEDOUT: "passing"} {
		keep(label, "net", &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", number)})
	}

	_, err = strconv.Atoi("abc")
	keep("bad-argument", "strconv", err)
	_, err = strconv.ParseBool("maybe")
	keep("bad-argument", "strconv", err)
	_, err = time.ParseDuration("soon")
	keep("bad-argument", "time", err)
	_, err = time.Parse(time.RFC3339, "tomorrow")
	keep("bad-argument", "time", err)
	_, err = url.Parse("http://[::1")
	keep("bad-argument", "net/url", err)
	_, err = regexp.Compile("[")
	keep("bad-argument", "regexp", err)
	_, err = base64.StdEncoding.DecodeString("a*b")
	keep("bad-argument", "encoding/base64", err)
	var page struct{ Page int }
	keep("bad-argument", "encoding/json", json.Unmarshal([]byte(`{"page":"x"}`), &page))
	keep("own-fault", "encoding/json", json.Unmarshal([]byte(`<html>`), &page))
	keep("own-fault", "encoding/json", json.Unmarshal([]byte(`{"page":`), &page))
	keep("own-fault", "encoding/xml", xml.Unmarshal([]byte(`<a><b></a>`), &page))
	keep("own-fault", "runtime", caught(func() { var m *given; _ = m.Doors["x"] }))
	keep("own-fault", "runtime", caught(func() { var list []int; i := 3; _ = list[i] }))
	keep("own-fault", "runtime", caught(func() { var m map[string]int; m["x"] = 1 }))
	keep("own-fault", "runtime", caught(func() { var a any = "x"; _ = a.(int) }))
	keep("own-fault", "runtime", caught(func() { zero := 0; _ = 1 / zero }))
	keep("absent", "database/sql", sql.ErrNoRows)
	_, err = sql.Open("nothere", "")
	keep("own-fault", "database/sql", err)
	keep("own-fault", "bufio", bufio.ErrTooLong)
}
