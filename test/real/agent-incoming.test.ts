/**
 * mirrord's own agent, with a target in a network namespace, passes the suite of incoming traffic that the reference
 * agent passes: whatever the two do differently there is a defect of the reference agent.
 */

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll } from "vitest"
import { incomingSuite } from "../lab/agent/incoming/incoming-suite.ts"
import { startTarget } from "./namespaces/agent-target.ts"
import { ContainerRuntime } from "./namespaces/container-runtime.ts"
import { describePodNetworks } from "./namespaces/describe-pod-networks.ts"
import { PodNetworks } from "./namespaces/pod-networks.ts"
import type { PodNode } from "./namespaces/pod-programs.ts"

describePodNetworks("incoming traffic of the real agent", ["agent"], ({ agent }) => {
  let directory = ""
  let node: PodNode
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "braid-pods-"))
    const runtime = new ContainerRuntime(join(directory, "docker.sock"))
    await runtime.start()
    node = { runtime, networks: await PodNetworks.start(directory) }
  })
  afterAll(async () => {
    node.runtime.stop()
    await node.networks.stop()
    rmSync(directory, { recursive: true, force: true })
  })

  incomingSuite(() => startTarget(node, agent))
})
