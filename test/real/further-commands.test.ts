import { subnetOf } from "../address-plan.ts"
import { furtherCommands } from "./further-commands.ts"
import { usePlayground } from "./harness.ts"

furtherCommands("embedded clusters", () =>
  usePlayground({ topology: "primary-default", agentIdleTtlSecs: 5, subnet: subnetOf("real client, further commands") })
)
