/** The AWS SDK's client for the queues of SQS in one region. Loaded only when a queue is used (sqs-queues.ts). */

import { SQS } from "@aws-sdk/client-sqs"
import { clientOptions, type ClientPlace } from "./client-options.ts"

export const sqsClient = (place: ClientPlace): SQS =>
  new SQS({
    ...clientOptions("sqs", place),
    // The URL comes from users' variables, and the request would go to whatever host it names.
    useQueueUrlAsEndpoint: false
  })
