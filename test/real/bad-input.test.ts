import { subnetOf } from "../address-plan.ts"
import { badInput } from "./bad-input.ts"
import { usePlayground } from "./harness.ts"

badInput("embedded clusters", (options) => usePlayground({ ...options, subnet: subnetOf("real client, bad input") }))
