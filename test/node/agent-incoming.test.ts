/**
 * mirrord's own agent, with a target in a container, passes the suite of incoming traffic that the reference agent
 * passes. A test that only the reference agent passes has its reason here.
 */

import { type Differences, incomingSuite } from "../lab/agent/incoming/incoming-suite.ts"
import { describeWith } from "../support/describe-with.ts"
import { startContainerTarget } from "./container-target.ts"
import { useNodes } from "./nodes.ts"

const noBody = "a request with a chunked body does not reach a client below 1.7.0, and its peer waits"

const differences: Differences = {
  "tells the client when the peer is gone": "the agent drops the request with a word in its log, and tells nobody",
  "1.3.0 gets the whole request with its body, framed": noBody,
  "without a version the whole request with its body comes in one piece": noBody
}

describeWith(["mirrord-agent", "node"], "incoming traffic of the real agent", () => {
  const { started } = useNodes(startContainerTarget)
  incomingSuite(() => Promise.resolve(started()()), differences)
})
