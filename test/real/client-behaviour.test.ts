import { subnetOf } from "../address-plan.ts"
import { clientBehaviour } from "./client-behaviour.ts"
import { usePlayground } from "./harness.ts"

clientBehaviour("embedded clusters", (options) =>
  usePlayground({ ...options, subnet: subnetOf("real client, behaviour") })
)
