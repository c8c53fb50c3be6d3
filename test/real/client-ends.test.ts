import { subnetOf } from "../address-plan.ts"
import { clientEnds } from "./client-ends.ts"
import { usePlayground } from "./harness.ts"

clientEnds("embedded clusters", (options) =>
  usePlayground({ ...options, subnet: subnetOf("real client, ends of sessions") })
)
