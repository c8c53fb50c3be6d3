/**
 * mirrord's own agent, with a target in a network namespace, passes the suite of incoming traffic that the reference
 * agent passes. A test that only the reference agent passes has its reason here.
 */

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll } from "vitest"
import { type Differences, incomingSuite } from "../lab/agent/incoming/incoming-suite.ts"
import { startTarget } from "./namespaces/agent-target.ts"
import { ContainerRuntime } from "./namespaces/container-runtime.ts"
import { describePodNetworks } from "./namespaces/describe-pod-networks.ts"
import { PodNetworks } from "./namespaces/pod-networks.ts"
import type { PodNode } from "./namespaces/pod-programs.ts"

const noBody = "a request with a body never reaches a client below 1.7.0, and its peer waits for ever"

const differences: Differences = {
  "tells the client when the peer is gone": "the agent drops the request with a word in its log, and tells nobody",
  "1.3.0 gets the whole request with its body, framed": noBody,
  "without a version the whole request with its body comes in one piece": noBody,
  "treats HTTP/2 as such: whole where the port is stolen whole": "the agent speaks HTTP/2 and waits for a request"
}

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

  incomingSuite(() => startTarget(node, agent), differences)
})
