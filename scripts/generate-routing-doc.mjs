// @ts-check
// Writes docs/routing.md from the routing table; a test fails when the page and the table differ.
import { writeFileSync } from "node:fs"
import { routingDocument } from "./routing-document.ts"

writeFileSync(new URL("../docs/routing.md", import.meta.url), routingDocument())
