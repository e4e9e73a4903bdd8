package util

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/kubernetes/pkg/scheduler"
)

const readyLine = "plimsoll scheduler ready"

// plimsoll is our scheduler, in a process of its own. It goes on from one test to the next, as long
// as these ask for the same.
type plimsoll struct {
	asked   string
	process *os.Process
	log     string
	exited  chan struct{}

	mutex sync.Mutex
	t     *testing.T
	begun bool
	// hasNodes is whether there were nodes when the test began to schedule.
	hasNodes bool
	// first and read are places in the log: where the test began, and what was read of it.
	first, read int64
	seen, woken []attempt
}

var running *plimsoll

// attempt is what the log tells of one, or of a pod that was woken for the next one.
type attempt struct {
	Message string   `json:"message"`
	Pod     string   `json:"pod"`
	Rules   []string `json:"rules"`
	Why     string   `json:"why"`
	// By is the object whose change has woken the pod, after its kind.
	By string `json:"by"`
}

// noNodes is why a pod is refused that a watch has told of before another one told of the nodes. It
// is tried again when they are seen; the scheduler inside a test would have seen them before.
const noNodes = "no nodes available to schedule pods"

// isAttempt are the messages that end one, each with the pod.
var isAttempt = map[string]bool{"pod refused": true, "pod placed": true, "attempt failed": true}

// startPlimsoll gives the test our scheduler, which waits for `begin`.
func startPlimsoll(t *testing.T, config *restclient.Config, wanted scheduler.Wanted) *plimsoll {
	asked := config.Host
	if !wanted.IsUsual {
		asked += configuration(t, wanted) + fmt.Sprint(wanted.MaxBackoffSeconds)
	}
	if running != nil && running.asked != asked {
		running.end()
		running = nil
	}
	if running == nil {
		running = newPlimsoll(t, config, wanted)
		running.asked = asked
	}
	running.beginTest(t)
	return running
}

func newPlimsoll(t *testing.T, config *restclient.Config, wanted scheduler.Wanted) *plimsoll {
	dir, err := os.MkdirTemp("", "plimsoll-scheduler-")
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	writeKubeconfig(t, config, kubeconfig)
	args := []string{"scheduler", "--policy=compatible", "--kubeconfig=" + kubeconfig, "--no-leader-elect",
		"--metrics-port=0", "--log-level=debug", "--log-format=json"}
	if wanted.IsUsual {
		args = append(args, "--scheduler-name="+v1.DefaultSchedulerName)
	} else {
		args = append(args, "--config="+writeConfiguration(t, wanted, dir))
	}
	ours := &plimsoll{log: filepath.Join(dir, "log"), exited: make(chan struct{})}
	output, err := os.Create(ours.log)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Getenv("PLIMSOLL"), args...)
	cmd.Stdout, cmd.Stderr = output, output
	if wanted.MaxBackoffSeconds == 0 {
		cmd.Env = append(os.Environ(), noBackoff...)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ours.process = cmd.Process
	go func() { _ = cmd.Wait(); output.Close(); close(ours.exited) }()
	ours.awaitReady(t)
	return ours
}

func (p *plimsoll) awaitReady(t *testing.T) {
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		said, _ := os.ReadFile(p.log)
		if strings.Contains(string(said), readyLine) {
			return
		}
		select {
		case <-p.exited:
			if strings.Contains(string(said), "is not supported") {
				t.Skipf("refused by name: %s", said)
			}
			t.Fatalf("our scheduler ended: %s", said)
		default:
		}
	}
	t.Fatal("our scheduler is not ready")
}

// beginTest stops our scheduler until the test begins to schedule.
func (p *plimsoll) beginTest(t *testing.T) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	_ = p.process.Signal(syscall.SIGSTOP)
	p.t, p.begun, p.seen, p.woken = t, false, nil, nil
	if info, err := os.Stat(p.log); err == nil {
		p.first, p.read = info.Size(), info.Size()
	}
}

// begin lets our scheduler go on. hasNodes is whether it has to see a node before it tries a pod.
func (p *plimsoll) begin(hasNodes bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !p.begun {
		p.hasNodes = hasNodes
		_ = p.process.Signal(syscall.SIGCONT)
	}
	p.begun = true
}

func (p *plimsoll) hasBegun() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.begun
}

// endTest tells a test that failed what our scheduler said since it began.
func (p *plimsoll) endTest(t *testing.T) {
	p.begin(false)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.t != t || !t.Failed() {
		return
	}
	said, _ := os.ReadFile(p.log)
	t.Logf("our scheduler said:\n%s", said[min(p.first, int64(len(said))):])
	p.t = nil
}

// end ends the process.
func (p *plimsoll) end() {
	p.begin(false)
	_ = p.process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(5 * time.Second):
		_ = p.process.Kill()
		<-p.exited
	}
}

// attempts are all that the log tells of by now.
func (p *plimsoll) attempts() []attempt {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	file, err := os.Open(p.log)
	if err != nil {
		return p.seen
	}
	defer file.Close()
	_, _ = file.Seek(p.read, io.SeekStart)
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return p.seen
		}
		p.read += int64(len(line))
		var told attempt
		if json.Unmarshal([]byte(line), &told) != nil {
			continue
		}
		if isAttempt[told.Message] && !(p.hasNodes && told.Why == noNodes) {
			p.seen = append(p.seen, told)
		} else if told.Message == "pod woken" {
			p.woken = append(p.woken, told)
		}
	}
}

// tries is how often each pod was tried, without the attempts for which it was woken by a pod that
// got a node when it was itself tried again.
func (p *plimsoll) tries() map[string]int {
	tries, again := map[string]int{}, map[string]bool{}
	for _, told := range p.attempts() {
		tries[told.Pod]++
		if told.Message == "pod placed" && tries[told.Pod] > 1 {
			again["Pod "+told.Pod] = true
		}
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, told := range p.woken {
		if again[told.By] {
			tries[told.Pod]--
		}
	}
	return tries
}

func writeKubeconfig(t *testing.T, config *restclient.Config, name string) {
	api := clientcmdapi.NewConfig()
	api.Clusters["c"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthority: config.CAFile, CertificateAuthorityData: config.CAData}
	api.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	api.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	api.CurrentContext = "x"
	if err := clientcmd.WriteToFile(*api, name); err != nil {
		t.Fatal(err)
	}
}
