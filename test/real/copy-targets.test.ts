import { subnetOf } from "../address-plan.ts"
import { copyTargets } from "./copy-targets.ts"
import { usePlayground } from "./harness.ts"

copyTargets("embedded clusters", (options) => usePlayground({ ...options, subnet: subnetOf("real client, copies") }))
