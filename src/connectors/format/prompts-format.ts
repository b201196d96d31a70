import { z } from 'zod';
import { fieldName, text } from './format-parts.ts';

/* Prompts and resources of MCP: the members `prompts` and `resources` of a connector file. */

export const prompt = z.strictObject({
  /** Title for people. */
  title: text(80).optional(),
  /** Description for a person who chooses among prompts. */
  description: text(500),
  /** Arguments that a person gives, by name. */
  arguments: z
    .record(
      fieldName,
      z.strictObject({
        /** Description of the argument. */
        description: text(300),
        /** Whether the prompt needs it. */
        required: z.boolean().default(false),
        /** Proposed while a person types. */
        values: z.array(z.string().min(1).max(200)).max(1000).default([]),
      }),
    )
    .default({}),
  /** The message of the user; `{name}` is an argument. */
  text: text(4000).optional(),
  /**
   * The action that returns the messages instead, with the arguments as its input; its `response.body` is `content`.
   */
  action: z.string().optional(),
});

/** A resource of MCP with its own address; `{name}` in it is a parameter of the action: `shop://orders/{orderId}`. */
export const resource = z.strictObject({
  /** The address; `{name}` is a parameter of the action. */
  uri: z
    .string()
    .max(500)
    .regex(/^(?!svc:)[a-z][a-z0-9+.-]*:\/\/[^\s{}]*(\{[a-zA-Z_][a-zA-Z0-9_]*\}[^\s{}]*)*$/, {
      message: 'must be an address such as shop://orders/{orderId}, and not begin with svc:',
    }),
  /** Title for people. */
  title: text(80).optional(),
  /** Description for a person and a model. */
  description: text(500),
  /** Media type of the content. */
  mimeType: z.string().max(100).optional(),
  /** The read action that returns it; its `response.body` is `file`. */
  action: z.string(),
});
export type ResourceDefinition = z.infer<typeof resource>;
