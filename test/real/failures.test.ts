import { subnetOf } from "../address-plan.ts"
import { failures } from "./failures.ts"
import { usePlayground } from "./harness.ts"

failures("embedded clusters", (options) => usePlayground({ ...options, subnet: subnetOf("real client, failures") }))
