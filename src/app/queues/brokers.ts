/** The services outside of the cluster by which messages are read, chosen and sent. */

import { Context, Effect } from "effect"
import { JqPrograms } from "../../ports/jq-programs.ts"
import { MessageQueues } from "../../ports/message-queues.ts"
import { StoredObjects } from "../../ports/stored-objects.ts"

export type Brokers = MessageQueues | JqPrograms | StoredObjects

export interface BrokerServices {
  readonly queues: MessageQueues["Service"]
  readonly jq: JqPrograms["Service"]
  readonly storedObjects: StoredObjects["Service"]
}

/** Provides all of them to an effect. */
export const provideBrokers = ({ jq, queues, storedObjects }: BrokerServices) =>
  Effect.provideContext(
    Context.make(MessageQueues, queues).pipe(Context.add(JqPrograms, jq), Context.add(StoredObjects, storedObjects))
  )
