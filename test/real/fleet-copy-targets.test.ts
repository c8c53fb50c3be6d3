import { subnetOf } from "../address-plan.ts"
import { fleetCopyTargets } from "./fleet-copy-targets.ts"
import { usePlayground } from "./harness.ts"

fleetCopyTargets("embedded clusters", (options) =>
  usePlayground({ ...options, subnet: subnetOf("real client, copies over many clusters") })
)
