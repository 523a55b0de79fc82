# Kueue: its manager with webhooks, as a pod in kueue-system, as its module deploys it.
# shellcheck shell=bash

# Installs or updates it, and waits until its webhooks answer.
kueue() {
    add_images kueue
    # The manager makes the certificate of its webhooks itself.
    cp -- "$CLUSTER_SOURCE/kueue/install/kustomization.yaml" "$PARTS/kueue/"
    kubectl_admin kustomize "$PARTS/kueue" |
        sed "s#image: us-central1-docker.pkg.dev/.*/kueue:.*#image: localhost/kueue:$(image_tag kueue)#; s#imagePullPolicy: Always#imagePullPolicy: IfNotPresent#" |
        kubectl_admin apply --server-side --force-conflicts --filename - >&2
    wait_for 180 "Kueue" kubectl_admin rollout status --namespace kueue-system deployment/kueue-controller-manager --timeout 5s
    wait_for 120 "webhooks of Kueue" kubectl_admin apply --dry-run=server --filename "$CLUSTER_SOURCE/kueue/flavor.yaml"
    say "Kueue is ready"
}
