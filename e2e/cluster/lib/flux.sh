# Flux: its controllers for sources, kustomizations and Helm releases, as pods in flux-system.
# shellcheck shell=bash

# Installs or updates them, and waits until they are ready.
flux() {
    local name
    add_images "${FLUX_PARTS[@]}"
    cp -- "$CLUSTER_SOURCE"/flux/install/*.yaml "$PARTS/flux/"
    kubectl_admin kustomize "$PARTS/flux" | sed 's#image: fluxcd/\([a-z-]*\):v#image: localhost/\1:#' |
        kubectl_admin apply --server-side --force-conflicts --filename - >&2
    for name in "${FLUX_PARTS[@]}"; do
        wait_for 120 "$name" kubectl_admin rollout status --namespace flux-system "deployment/$name" --timeout 5s
    done
    say "Flux is ready"
}
