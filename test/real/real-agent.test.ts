/** mirrord's own agent without a target. */

import { subnetOf } from "../address-plan.ts"
import { usePlayground } from "./harness.ts"
import { targetlessAgent } from "./targetless-agent.ts"

const subnet = subnetOf("real client, real agent")
targetlessAgent("embedded clusters", (options) => usePlayground({ ...options, subnet }))
