import { subnetOf } from "../address-plan.ts"
import { earlierAgents } from "./earlier-agents.ts"
import { usePlayground } from "./harness.ts"

earlierAgents("embedded clusters", (options) =>
  usePlayground({ ...options, subnet: subnetOf("real client, agents of earlier releases") })
)
