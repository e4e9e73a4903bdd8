package testing

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubernetes/test/utils/ktesting"
)

// toStart is how long our server has until it is ready, on a machine that does much else.
const toStart = 2 * time.Minute

// Plimsoll is our API server in a process and a directory of its own.
type Plimsoll struct {
	Config *restclient.Config
	Dir    string
	CAFile string

	asked   string
	command *exec.Cmd
	ready   chan error
	exited  chan struct{}
	once    sync.Once
}

// spare was started when a test got the one before it: most tests ask for the same.
var (
	spare *Plimsoll
	mutex sync.Mutex
)

// StartPlimsoll gives the test a server that is empty.
func StartPlimsoll(t ktesting.TB, flags []string) *Plimsoll {
	t.Helper()
	ours, err := takeSpare(flags)
	if err != nil {
		t.Fatalf("our API server cannot be started: %v", err)
	}
	if err := ours.await(); err != nil {
		said := ours.said()
		ours.Stop()
		if strings.Contains(said, "this server has no plugin") {
			t.Skipf("refused by name: %s", said)
		}
		t.Fatalf("our API server did not start: %v: %s", err, said)
	}
	t.Cleanup(func() {
		if said := ours.said(); t.Failed() && said != "" {
			t.Logf("our API server said:\n%s", said)
		}
		ours.Stop()
	})
	return ours
}

func takeSpare(flags []string) (*Plimsoll, error) {
	mutex.Lock()
	defer mutex.Unlock()
	asked := strings.Join(flags, " ")
	ours := spare
	spare = nil
	if ours != nil && ours.asked != asked {
		ours.Stop()
		ours = nil
	}
	if ours == nil {
		started, err := launch(flags, asked)
		if err != nil {
			return nil, err
		}
		ours = started
	}
	next, err := launch(flags, asked)
	if err == nil {
		spare = next
	}
	return ours, nil
}

func launch(flags []string, asked string) (*Plimsoll, error) {
	dir, err := os.MkdirTemp("", "plimsoll-apiserver-")
	if err != nil {
		return nil, err
	}
	ours := &Plimsoll{Dir: dir, asked: asked, CAFile: filepath.Join(dir, "ca.crt"), ready: make(chan error, 1), exited: make(chan struct{})}
	if err := writeSigningKey(filepath.Join(dir, "data", "pki", "sa.key")); err != nil {
		return nil, err
	}
	args := []string{"apiserver", "--data-dir=" + filepath.Join(dir, "data"), "--port=0",
		"--write-kubeconfig=" + ours.kubeconfig(), "--log-level=warning"}
	ours.command = exec.Command(os.Getenv("PLIMSOLL"), append(args, flags...)...)
	ours.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	output, err := os.Create(ours.log())
	if err != nil {
		return nil, err
	}
	ours.command.Stderr = output
	stdout, err := ours.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := ours.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
			ours.ready <- fmt.Errorf("it ended before it was ready: %w", err)
		} else {
			ours.ready <- nil
		}
		_ = ours.command.Wait()
		output.Close()
		close(ours.exited)
	}()
	return ours, nil
}

func (p *Plimsoll) await() error {
	select {
	case err := <-p.ready:
		if err != nil {
			<-p.exited
			return err
		}
	case <-time.After(toStart):
		return errors.New("it is not ready yet")
	}
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig())
	if err != nil {
		return err
	}
	// As the client that kube-apiserver has for itself, which tests get from it.
	config.QPS, config.Burst = 1000, 10000
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.DisableCompression = true
	p.Config = config
	return os.WriteFile(p.CAFile, config.CAData, 0o600)
}

// Stop ends the process and takes its directory away.
func (p *Plimsoll) Stop() {
	p.once.Do(func() {
		_ = p.command.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.exited:
		case <-time.After(10 * time.Second):
			_ = p.command.Process.Kill()
			<-p.exited
		}
		_ = os.RemoveAll(p.Dir)
	})
}

func (p *Plimsoll) said() string {
	said, _ := os.ReadFile(p.log())
	return string(said)
}

func (p *Plimsoll) kubeconfig() string { return filepath.Join(p.Dir, "kubeconfig") }

func (p *Plimsoll) log() string { return filepath.Join(p.Dir, "log") }
