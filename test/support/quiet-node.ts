import * as NodeServices from "@effect/platform-node/NodeServices"
import { Layer, Logger } from "effect"

/** Node's services, and a log without a reader: what a test gives a playground that it starts in its own process. */
export const quietNode = Layer.merge(NodeServices.layer, Logger.layer([]))
