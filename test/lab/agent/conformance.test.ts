/** The reference agent answers as mirrord's own, which test/real/agent-conformance.test.ts asks the same. */

import { startOurs } from "./agent-harness.ts"
import { environment } from "./conformance-cases.ts"
import { agentConformance } from "./conformance-suite.ts"

agentConformance("our agent", (operator) =>
  startOurs({
    operator,
    target: {
      env: new Map(Object.entries(environment)),
      root: "/",
      podIp: "0.0.0.0",
      resolve: () => undefined,
      redirect: () => {
        throw new Error("a targetless agent has no incoming traffic")
      }
    },
    targetless: true,
    idleTtlSecs: 60
  })
)
