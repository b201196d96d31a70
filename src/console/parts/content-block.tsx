import { Anchor, Group, Text } from '@mantine/core';
import { IconFile, IconLink } from '@tabler/icons-react';
import { isObject } from '../rest-client.ts';
import { CodeBlock } from './code-block.tsx';
import { count } from './values.tsx';

/** A block of the content of a tool's result. Its members are those of MCP. */
export type Block = Record<string, unknown>;

/** Shows a block: text, an image, a link to a resource, or what else a tool may return. */
export function ContentBlock({ block }: { block: Block }) {
  switch (block['type']) {
    case 'text':
      return (
        <div className="tall">
          <CodeBlock text={String(block['text'])} label="Text" />
        </div>
      );
    case 'image':
      return <Picture data={String(block['data'])} mimeType={String(block['mimeType'])} />;
    case 'audio':
      return <Bytes label="Audio" data={String(block['data'])} mimeType={String(block['mimeType'])} />;
    case 'resource_link':
      return <ResourceLink link={block} />;
    case 'resource':
      return isObject(block['resource']) ? <Resource resource={block['resource']} /> : null;
    default:
      return <CodeBlock text={JSON.stringify(block, null, 2)} label={String(block['type'])} />;
  }
}

function Picture({ data, mimeType }: { data: string; mimeType: string }) {
  if (!mimeType.startsWith('image/')) return <Bytes label="Image" data={data} mimeType={mimeType} />;
  return (
    <figure className="picture">
      <img src={`data:${mimeType};base64,${data}`} alt={`Image of the result, ${mimeType}`} />
      <Text component="figcaption" size="xs" c="dimmed">
        {mimeType}, {sizeOf(data)}
      </Text>
    </figure>
  );
}

function Bytes({ label, data, mimeType }: { label: string; data: string; mimeType: string }) {
  return (
    <Group gap="xs">
      <IconFile size={16} aria-hidden />
      <Text size="sm">
        {label}, {mimeType}, {sizeOf(data)}
      </Text>
    </Group>
  );
}

function ResourceLink({ link: { uri, name, mimeType, size } }: { link: Block }) {
  const address = String(uri);
  const facts = [
    typeof mimeType === 'string' ? mimeType : undefined,
    typeof size === 'number' ? `${count(size)} bytes` : undefined,
  ].filter((one) => one !== undefined);
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start">
      <IconLink size={16} aria-hidden style={{ flex: 'none', marginTop: 3 }} />
      <Text size="sm" miw={0}>
        {typeof name === 'string' ? name : 'Resource'}{' '}
        {/^https?:/.test(address) ? (
          <Anchor href={address} target="_blank" rel="noreferrer" size="sm" className="mono">
            {address}
          </Anchor>
        ) : (
          <span className="mono">{address}</span>
        )}
        {facts.length > 0 && ` (${facts.join(', ')})`}
      </Text>
    </Group>
  );
}

function Resource({ resource: { uri, mimeType, text, blob } }: { resource: Record<string, unknown> }) {
  const type = typeof mimeType === 'string' ? mimeType : 'application/octet-stream';
  if (typeof blob === 'string') return <Picture data={blob} mimeType={type} />;
  return (
    <div className="tall">
      <CodeBlock text={typeof text === 'string' ? text : ''} label={`Resource ${String(uri)}`} />
    </div>
  );
}

/** Returns the size of what a Base64 text holds. */
function sizeOf(base64: string): string {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  return `${count((base64.length / 4) * 3 - padding)} bytes`;
}
