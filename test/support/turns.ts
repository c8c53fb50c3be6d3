/**
 * Lets the event loop turn so often that everything which waits for no time, file, process or network has come to rest.
 * In turns and not in milliseconds, so that it is as much on a machine that stands still in between.
 */
export const turns = async (count = 200): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise<void>((resolve) => void setImmediate(resolve))
}
