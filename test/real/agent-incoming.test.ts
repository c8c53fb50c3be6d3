/**
 * mirrord's own agent, with a target in a network namespace, passes the suite of incoming traffic that the reference
 * agent passes. A test that only the reference agent passes has its reason here.
 */

import { type Differences, incomingSuite } from "../lab/agent/incoming/incoming-suite.ts"
import { startTarget } from "./namespaces/agent-target.ts"
import { describePodNetworks } from "./namespaces/describe-pod-networks.ts"
import { usePodNode } from "./namespaces/pod-node.ts"

const noBody = "a request with a chunked body does not reach a client below 1.7.0, and its peer waits"

const differences: Differences = {
  "tells the client when the peer is gone": "the agent drops the request with a word in its log, and tells nobody",
  "1.3.0 gets the whole request with its body, framed": noBody,
  "without a version the whole request with its body comes in one piece": noBody
}

describePodNetworks("incoming traffic of the real agent", ["agent"], ({ agent }) => {
  const node = usePodNode()
  incomingSuite(() => startTarget(node(), agent), differences)
})
