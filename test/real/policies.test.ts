import { subnetOf } from "../address-plan.ts"
import { usePlayground } from "./harness.ts"
import { clientPolicies } from "./policies.ts"

clientPolicies("embedded clusters", (options) =>
  usePlayground({ ...options, subnet: subnetOf("real client, policies") })
)
