import { subnetOf } from "../address-plan.ts"
import { furtherCommands } from "./further-commands.ts"
import { usePlayground } from "./harness.ts"

furtherCommands("embedded clusters", (options) =>
  usePlayground({ ...options, subnet: subnetOf("real client, further commands") })
)
