/**
 * Runs braid's image as a process of this machine, as a container of the stand-in kubelet. Nothing is isolated: paths
 * and addresses are translated instead, so that neither the program nor the chart notices.
 */

import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { asNumber, asObjects, asString, at } from "../../../src/domain/json.ts"
import type { ContainerContext, ContainerProgram } from "../../cluster/node/container-program.ts"
import { serviceAccountPath, underRoot } from "../../cluster/node/container-volumes.ts"
import { publishedAddresses } from "../../cluster/node/pod-addresses.ts"
import { processProgram } from "../../cluster/node/process-program.ts"
import type { ClosedNetwork } from "../closed-network.ts"

/** The program as it stands in this repository. */
export const braidSources = fileURLToPath(new URL("../../../src/app/braid.ts", import.meta.url))
const preload = new URL("../../cluster/node/pod-network-preload.ts", import.meta.url)
/** Several operators share one machine here. Without this option the young generation of each may take tens of MB. */
const smallHeap = "--max-semi-space-size=2"

const ownSpec = ({ containerName, pod }: ContainerContext) =>
  [...asObjects(at(pod, "spec", "containers")), ...asObjects(at(pod, "spec", "initContainers"))].find(
    ({ name }) => name === containerName
  )

/** Folders of the container that are mounted, the longest path first. */
const mountPaths = (container: ContainerContext): ReadonlyArray<string> => {
  return asObjects(ownSpec(container)?.["volumeMounts"])
    .flatMap(({ mountPath }) => asString(mountPath) ?? [])
    .toSorted((a, b) => b.length - a.length)
}

/**
 * The service account as a kubeconfig. In a container the program would find it in a folder that is elsewhere for a
 * process of this machine. The token is read again when the kubelet has renewed it.
 */
const kubeconfig = ({ env, root }: ContainerContext): string => {
  const folder = underRoot(root, serviceAccountPath)
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "in-cluster",
        cluster: {
          server: `https://${env.get("KUBERNETES_SERVICE_HOST") ?? ""}:${env.get("KUBERNETES_SERVICE_PORT") ?? ""}`,
          "certificate-authority": join(folder, "ca.crt")
        }
      }
    ],
    users: [
      {
        name: "in-cluster",
        user: { "auth-provider": { name: "tokenFile", config: { tokenFile: join(folder, "token") } } }
      }
    ],
    contexts: [{ name: "in-cluster", context: { cluster: "in-cluster", user: "in-cluster" } }],
    "current-context": "in-cluster"
  })
}

/**
 * The container's variables, with paths changed: mounted files are below the container's root for a process of this
 * machine.
 */
const environment = (container: ContainerContext): Readonly<Record<string, string>> => {
  const { env, root } = container
  const file = join(root, "etc", "kubeconfig")
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, kubeconfig(container), { mode: 0o600 })
  const mounted = mountPaths(container)
  const moved = [...env].flatMap(([name, value]) => {
    const mount = mounted.find((path) => value === path || value.startsWith(`${path}/`))
    return mount === undefined ? [] : [[name, underRoot(root, value)] as const]
  })
  return {
    ...Object.fromEntries(moved),
    ...(env.has("KUBECONFIG") ? {} : { KUBECONFIG: file }),
    TMPDIR: underRoot(root, "/tmp")
  }
}

/** Opens the ports that a container names, at the same address of this machine. A pod before it may have done so. */
const leadToPod = (container: ContainerContext, host: string, { leadTo }: ClosedNetwork): void => {
  for (const { containerPort } of asObjects(ownSpec(container)?.["ports"])) {
    const at = { host, port: asNumber(containerPort) ?? 0 }
    leadTo(at, at).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EADDRINUSE") container.log(`no door to ${host}:${at.port}: ${error.message}`)
    })
  }
}

/**
 * Braid's image as a process: entrypoint `braid`, with the container's arguments, its files, the identity of its
 * service account and the pod's own address.
 *
 * @param subnet of the node that runs the process
 * @param programOf the file of the program that an image holds, by the image with its tag
 * @param network in which the process runs; this machine's unless given
 */
export const braidImage = (
  subnet: number,
  programOf: (image: string) => string,
  network?: ClosedNetwork
): ContainerProgram =>
  Object.assign(
    processProgram({
      command: (container) => {
        const { args, podIp } = container
        const program = programOf(asString(ownSpec(container)?.["image"]) ?? "")
        const address = publishedAddresses(subnet).real(podIp)
        const addressed = pathToFileURL(fileURLToPath(preload))
        addressed.searchParams.set("address", address)
        addressed.searchParams.set("subnet", String(subnet))
        const command = [process.execPath, smallHeap, `--import=${addressed.href}`, program, ...args] as const
        if (network === undefined) return command
        leadToPod(container, address, network)
        return network.inNetwork(command)
      },
      env: environment
    }),
    // As in the Containerfile.
    { userId: 65_532 }
  )
