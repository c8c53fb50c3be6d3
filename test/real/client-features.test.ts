import { subnetOf } from "../address-plan.ts"
import { clientFeatures } from "./client-features.ts"
import { usePlayground } from "./harness.ts"

clientFeatures("embedded clusters", (options) =>
  usePlayground({ ...options, subnet: subnetOf("real client, features") })
)
