// Command node is a whole Kubernetes node in one static program: it looks at the name it was called by (or at its first
// argument) and becomes the API server, the controller manager, the scheduler, the kubelet, kube-proxy, kubectl or etcd.
// One program instead of seven is one link step and one copy of the shared libraries: a fifth of the time and disk.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	// What the programs' own main packages register.
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

// parts maps a program's name to what builds its command. etcd has no cobra command and is handled apart.
var parts = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllermanager.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubelet":                 func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
	"kube-proxy":              proxy.NewProxyCommand,
	"kubectl":                 kubectl.NewDefaultKubectlCommand,
}

func main() {
	name := filepath.Base(os.Args[0])
	if !known(name) && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		name = os.Args[0]
	}
	switch {
	case name == "etcd":
		etcdmain.Main(os.Args)
	case parts[name] != nil:
		os.Exit(cli.Run(parts[name]()))
	default:
		fmt.Fprintf(os.Stderr, "%q is none of the programs in here; call it as one of: %s\n", name, strings.Join(names(), ", "))
		os.Exit(2)
	}
}

func known(name string) bool { return name == "etcd" || parts[name] != nil }

func names() []string {
	all := []string{"etcd"}
	for name := range parts {
		all = append(all, name)
	}
	sort.Strings(all)
	return all
}
