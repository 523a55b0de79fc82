// Command gitops-health says what GitOps tools make of objects, by the tools' own code: gitops-health CONFIGMAP KUSTOMIZATION <
// OBJECTS, one JSON object a line. CONFIGMAP is an argocd-cm with health scripts, KUSTOMIZATION a Kustomization of Flux with
// healthCheckExprs. A line of the answer has `kstatus`, `argo` and `flux`, each with `status` and `message`; `argo` has `hook` too,
// the phase of a sync hook with that health.
package main

import (
	"bufio"
	"context"
	encoding "encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/engine"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	// The longest line, in bytes: larger than any object that the API server takes.
	longestLine = 4 << 20
	// Argo CD reads the script of a kind from this key of argocd-cm, followed by <group>_<kind>.
	scriptKey = "resource.customizations.health."
)

type verdict struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

type argoVerdict struct {
	verdict
	Hook string `json:"hook"`
}

type answer struct {
	Kstatus verdict     `json:"kstatus"`
	Argo    argoVerdict `json:"argo"`
	Flux    verdict     `json:"flux"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 3 {
		return fmt.Errorf("usage: gitops-health CONFIGMAP KUSTOMIZATION < OBJECTS")
	}
	scripts, err := readScripts(os.Args[1])
	if err != nil {
		return fmt.Errorf("%s: %w", os.Args[1], err)
	}
	flux, err := readExpressions(os.Args[2])
	if err != nil {
		return fmt.Errorf("%s: %w", os.Args[2], err)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, longestLine)
	out := encoding.NewEncoder(os.Stdout)
	for lines.Scan() {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(lines.Bytes()); err != nil {
			return fmt.Errorf("a line of the input: %w", err)
		}
		if err := out.Encode(judge(object, scripts, flux)); err != nil {
			return err
		}
	}
	return lines.Err()
}

func judge(object *unstructured.Unstructured, scripts lua.ResourceHealthOverrides, flux engine.StatusReader) answer {
	var result answer
	if found, err := status.Compute(object); err != nil {
		result.Kstatus = verdict{"Error", err.Error()}
	} else {
		result.Kstatus = verdict{found.Status.String(), found.Message}
	}
	if found, err := health.GetResourceHealth(object, scripts); err != nil {
		result.Argo.verdict = verdict{"Error", err.Error()}
	} else if found == nil {
		result.Argo.verdict = verdict{"None", "there is no script for this kind"}
	} else {
		result.Argo.verdict = verdict{string(found.Status), found.Message}
	}
	result.Argo.Hook = hookPhase(result.Argo.Status)
	if found, err := flux.ReadStatusForObject(context.Background(), nil, object); err != nil {
		result.Flux = verdict{"Error", err.Error()}
	} else {
		message := found.Message
		if found.Error != nil {
			message = found.Error.Error()
		}
		result.Flux = verdict{found.Status.String(), message}
	}
	return result
}

// As getOperationPhase of Argo CD's gitops-engine (pkg/sync/sync_context.go) maps the health of a hook. It is not exported.
func hookPhase(found string) string {
	switch health.HealthStatusCode(found) {
	case health.HealthStatusUnknown, health.HealthStatusDegraded:
		return "Failed"
	case health.HealthStatusProgressing, health.HealthStatusSuspended:
		return "Running"
	case "Error":
		return "Error"
	default:
		return "Succeeded"
	}
}

func readScripts(path string) (lua.ResourceHealthOverrides, error) {
	var configMap struct {
		Data map[string]string `json:"data"`
	}
	if err := read(path, &configMap); err != nil {
		return nil, err
	}
	scripts := lua.ResourceHealthOverrides{}
	for key, script := range configMap.Data {
		if kind, found := strings.CutPrefix(key, scriptKey); found {
			scripts[strings.Replace(kind, "_", "/", 1)] = v1alpha1.ResourceOverride{HealthLua: script}
		}
	}
	if len(scripts) == 0 {
		return nil, fmt.Errorf("data has no key that begins with %s", scriptKey)
	}
	return scripts, nil
}

func readExpressions(path string) (engine.StatusReader, error) {
	var kustomization struct {
		Spec struct {
			HealthCheckExprs []kustomize.CustomHealthCheck `json:"healthCheckExprs"`
		} `json:"spec"`
	}
	if err := read(path, &kustomization); err != nil {
		return nil, err
	}
	if len(kustomization.Spec.HealthCheckExprs) == 0 {
		return nil, fmt.Errorf("spec has no healthCheckExprs")
	}
	reader, err := cel.NewStatusReader(kustomization.Spec.HealthCheckExprs)
	if err != nil {
		return nil, err
	}
	return reader(nil), nil
}

func read(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return yaml.Unmarshal(text, into)
}
