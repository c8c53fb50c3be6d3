import { writeFileSync } from "node:fs"
import { routingDocument } from "../domain/routing/routing-document.ts"

/** Writes `docs/routing.md`; a test fails when the page and the table differ. */
writeFileSync(new URL("../../docs/routing.md", import.meta.url), routingDocument())
