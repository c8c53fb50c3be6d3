/**
 * Finds what a real node is made of on this machine: programs and images. `npm run node` (scripts) provides them;
 * nothing is made here.
 */

import { accessSync, constants, existsSync, lstatSync, readdirSync, statfsSync } from "node:fs"
import { homedir, tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { isProgram } from "../kubernetes/programs.ts"

/** Programs that `npm run node` builds. `pause` and `coredns` are inside of images. */
export const builtPrograms = ["kubelet", "kube-proxy", "kube-scheduler"] as const
/** The program that enforces NetworkPolicies, for nodes that do; built with the images' programs. */
const policyProgram = "network-policies"
/** Programs that Debian has as packages. */
const packagedPrograms = [
  "containerd",
  "ctr",
  "runc",
  "unshare",
  "nsenter",
  "ip",
  "iptables",
  "conntrack",
  "sysctl"
] as const
/** The plugins of Debian's package, where `world.sh` expects them. */
const networkPlugins = "/usr/lib/cni"

/** The images of a node, by the names of their archives. The agent's is there where mirrord's own agent is. */
export const nodeImages = {
  pause: "localhost/pause:1",
  coredns: "localhost/coredns:1",
  demo: "localhost/braid-demo:1"
} as const

/** The sentence for a person whose node has no agent. */
export const missingAgent =
  "The image of mirrord's agent is missing, without which no session starts: run `npm run node` where " +
  "MIRRORD_AGENT_BIN names the program."

type Environment = Readonly<Record<string, string | undefined>>

/** The folder of `npm run node`: programs, and images in a folder of their own. */
export const nodeFolder = (env: Environment): string =>
  join(env["BRAID_CACHE"] ?? join(homedir(), ".cache", "braid"), "node")

/** The files of which a node is made. */
export interface NodeFiles {
  readonly kubelet: string
  readonly kubeProxy: string
  readonly scheduler: string
  readonly networkPolicies: string
  /** Archives, of which containerd takes each as an image. */
  readonly images: ReadonlyArray<string>
  /** Whether the image of mirrord's own agent is among them. Without it, no session can start. */
  readonly hasAgent: boolean
}

const onPath = (name: string, env: Environment): boolean =>
  [...(env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/sbin"].some((folder) => isProgram(join(folder, name)))

/** The controllers of which `world.sh` makes a group each. */
const controllers = ["cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids"]

/** The kernel's number for an overlay. */
const overlay = 0x79_4c_76_30

/** Why no node can run on this machine at all; `undefined` if it can. */
export const unfitForNodes = (): string | undefined => {
  if (process.platform !== "linux") return `a node needs Linux, and this is ${process.platform}`
  if (process.getuid?.() !== 0) return "a node needs root, to make namespaces and cgroups"
  if (statfsSync(tmpdir()).type === overlay)
    return `containerd's overlays do not lie on an overlay, as ${tmpdir()} does: set TMPDIR to a folder of a disk`
  const missing = controllers.find((name) => !existsSync(`/sys/fs/cgroup/${name}/cgroup.procs`))
  if (missing !== undefined)
    return `a node needs the controllers of cgroup v1 in /sys/fs/cgroup, and there is no ${missing}`
  // Some systems mount two in one place, with a link for each.
  const shared = controllers.find((name) => lstatSync(`/sys/fs/cgroup/${name}`).isSymbolicLink())
  if (shared !== undefined)
    return `a node needs each controller of cgroup v1 alone, and ${shared} shares its place in /sys/fs/cgroup`
  try {
    accessSync("/sys/fs/cgroup/memory", constants.W_OK)
    return undefined
  } catch {
    return "/sys/fs/cgroup/memory cannot be written: a node needs cgroups of its own"
  }
}

/** Programs of packages that are not there. */
export const missingPackaged = (env: Environment): ReadonlyArray<string> => [
  ...packagedPrograms.filter((name) => !onPath(name, env)),
  ...(existsSync(join(networkPlugins, "bridge")) ? [] : [`${networkPlugins}/bridge`])
]

/** The files of a node, or the sentence that says why there can be none. */
export const findNode = (env: Environment): NodeFiles | string => {
  const why = unfitForNodes()
  if (why !== undefined) return `${why}.`
  const packaged = missingPackaged(env)
  const folder = nodeFolder(env)
  const built = [...builtPrograms, policyProgram].filter((name) => !isProgram(join(folder, name)))
  const archives = join(folder, "images")
  const found = existsSync(archives) ? readdirSync(archives).filter((name) => name.endsWith(".tar")) : []
  const images = [...Object.keys(nodeImages), "braid"].filter((name) => !found.includes(`${name}.tar`))
  const missing = [...packaged, ...built, ...images.map((name) => `the image ${name}`)]
  if (missing.length > 0)
    return `${missing.join(", ")} missing (in ${folder}): \`npm run node\` provides what a node needs, once.`
  return {
    kubelet: join(folder, "kubelet"),
    kubeProxy: join(folder, "kube-proxy"),
    scheduler: join(folder, "kube-scheduler"),
    networkPolicies: join(folder, policyProgram),
    images: found.toSorted().map((name) => join(archives, name)),
    hasAgent: found.includes("agent.tar")
  }
}
