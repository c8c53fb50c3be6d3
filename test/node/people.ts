/** People of a primary, and a pod for them in a member on a node that dials out. */

import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { expect } from "vitest"
import type { NodeCluster } from "../../lab/playground/node/node-cluster.ts"
import { nodeImages } from "../../lab/playground/node/node-files.ts"
import { topology } from "../../lab/playground/topology.ts"
import { runBraid } from "../support/run-braid.ts"
import { kubectl } from "./nodes.ts"

/** The member, the group that it lets in, and a person of it. */
export const [member, group, user] = ["cluster-b", "people", "ann"]
/** The pod, in the namespace `default`. */
export const pod = "tools"

const reached = topology("primary-default", 0)
/** A primary that is the default, and a member that dials it. */
export const dialling = {
  ...reached,
  clusters: reached.clusters.map((cluster) => ({ ...cluster, dialsOut: cluster.name === member }))
}

/** Says what it reads, as the program of a pod that people attach to. */
const tools = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: pod },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: "main",
        image: nodeImages.demo,
        command: ["sh", "-c", 'echo ready; while read -r line; do echo "heard $line"; done'],
        stdin: true
      }
    ]
  }
}

/** Starts the pod, and gives people rights as docs/operating/outbound.md says; the result is a person's kubeconfig. */
export const letPeopleIn = async (primary: NodeCluster, other: NodeCluster, directory: string): Promise<string> => {
  const own = join(directory, "ann.kubeconfig")
  const through = join(directory, "through.kubeconfig")
  const [binding, ofPeople] = [["create", "rolebinding", group], `--group=primary:${group}`]
  await kubectl(other, ...binding, "--clusterrole=edit", ofPeople, "-n", "default")
  await kubectl(
    primary,
    ...["create", "clusterrole", "cluster-b-people", "--verb=get,create,update,patch,delete"],
    ...["--resource=mirrordclusters.operator.metalbear.co/proxy", `--resource-name=${member}`]
  )
  await kubectl(
    primary,
    ...["create", "clusterrole", "clusters", "--verb=get,list", "--resource=mirrordclusters.operator.metalbear.co"]
  )
  for (const role of ["cluster-b-people", "clusters"])
    await kubectl(primary, "create", "clusterrolebinding", role, `--clusterrole=${role}`, `--group=${group}`)
  await Effect.runPromise(primary.userKubeconfig({ user, groups: [group], path: own }))
  await other.plane.apply(JSON.stringify(tools))
  await kubectl(other, "wait", "--for=condition=Ready", `pod/${pod}`, "--timeout=300s")
  const { code, errors, output } = await runBraid(["kubeconfig", member, "--kubeconfig", own])
  expect([code, errors]).toEqual([0, ""])
  writeFileSync(through, output, { mode: 0o600 })
  return through
}
