/** The configuration files of a node's programs, as texts. Not here: starting the programs (`node-cluster.ts`). */

import { nodeServices } from "../kubernetes/control-plane.ts"

/** The network of pods. `range`: their addresses, such as 10.244.1.0/24. */
export const networkConfiguration = (range: string): string =>
  JSON.stringify({
    cniVersion: "1.0.0",
    name: "node",
    plugins: [
      {
        type: "bridge",
        bridge: "cni0",
        isGateway: true,
        ipMasq: true,
        hairpinMode: true,
        ipam: { type: "host-local", ranges: [[{ subnet: range }]], routes: [{ dst: "0.0.0.0/0" }] }
      },
      { type: "portmap", capabilities: { portMappings: true } }
    ]
  })

/** That of containerd 1. `sandbox`: the image of a pod's first process. */
export const containerdConfiguration = (sandbox: string): string => `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${sandbox}"
  # Without CAP_SYS_RESOURCE nothing may make itself less likely to be killed.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
`

/** Files of a kubelet, by their paths. */
export interface KubeletFiles {
  readonly address: string
  readonly clientCa: string
  readonly certificate: string
  readonly key: string
  /** The file that is `/etc/resolv.conf` of pods that ask their node: the machine's own must not be asked. */
  readonly resolver: string
}

export const kubeletConfiguration = ({ address, certificate, clientCa, key, resolver }: KubeletFiles): string =>
  JSON.stringify({
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    address,
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: clientCa } },
    authorization: { mode: "Webhook" },
    tlsCertFile: certificate,
    tlsPrivateKeyFile: key,
    containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
    cgroupDriver: "cgroupfs",
    failCgroupV1: false,
    failSwapOn: false,
    clusterDNS: [nodeServices.dns],
    clusterDomain: "cluster.local",
    resolvConf: resolver,
    imageGCHighThresholdPercent: 100,
    evictionHard: {
      "memory.available": "100Mi",
      "nodefs.available": "1%",
      "imagefs.available": "1%",
      "nodefs.inodesFree": "1%"
    },
    enforceNodeAllocatable: ["pods"],
    syncFrequency: "10s",
    nodeStatusUpdateFrequency: "5s"
  })

/** That of kube-proxy. The machine's settings of connection tracking stay as they are. */
export const proxyConfiguration = (kubeconfig: string, node: string): string =>
  JSON.stringify({
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    clientConnection: { kubeconfig },
    mode: "iptables",
    clusterCIDR: "10.244.0.0/16",
    hostnameOverride: node,
    conntrack: { maxPerCore: 0, min: 0 },
    iptables: { minSyncPeriod: "0s" }
  })
