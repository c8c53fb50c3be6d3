/** The suite of the front proxy behind the embedded cluster; test/kubernetes runs it behind real API servers. */

import { describe } from "vitest"
import { startEmbedded } from "./embedded-aggregation.ts"
import { frontProxySuite } from "./front-proxy-suite.ts"

describe("the front proxy, behind the embedded cluster", () => {
  frontProxySuite(startEmbedded)
})
