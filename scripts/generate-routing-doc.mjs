// @ts-check
/**
 * Writes docs/reference/routing.md; routing-document.ts has its text. A test fails when the page and the routing table
 * differ.
 */

import { writeFileSync } from "node:fs"
import { routingDocument } from "./routing-document.ts"

writeFileSync(new URL("../docs/reference/routing.md", import.meta.url), routingDocument())
