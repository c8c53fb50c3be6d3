/** The form of names of SQS queues (AWS, CreateQueue). */

/** The end of the name of every FIFO queue, and of no other. */
export const fifoSuffix = ".fifo"

/** Characters of the longest name, with its suffix. */
export const maxQueueName = 80

export const isFifoName = (name: string): boolean => name.endsWith(fifoSuffix)

/** The name without the suffix of FIFO queues. */
export const queueStem = (name: string): string => (isFifoName(name) ? name.slice(0, -fifoSuffix.length) : name)

export const isQueueName = (name: string): boolean =>
  name.length <= maxQueueName && /^[A-Za-z0-9_-]+$/u.test(queueStem(name))
