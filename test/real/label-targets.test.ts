import { subnetOf } from "../address-plan.ts"
import { usePlayground } from "./harness.ts"
import { labelTargets } from "./label-targets.ts"

labelTargets("embedded clusters", (options) => usePlayground({ ...options, subnet: subnetOf("real client, labels") }))
