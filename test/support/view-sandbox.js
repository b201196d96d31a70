/*
 * The frame between the host and the document of MCP Apps ("Sandbox proxy" of the specification): it passes on messages, and
 * loads the document into a frame that may run scripts and nothing else.
 */

const frame = document.createElement('iframe');
frame.title = 'The document';
frame.setAttribute('sandbox', 'allow-scripts');

window.addEventListener('message', ({ source, data }) => {
  if (source === window.parent && data.method === 'ui/notifications/sandbox-resource-ready') {
    if (data.params.permissions?.clipboardWrite) frame.setAttribute('allow', 'clipboard-write');
    frame.srcdoc = data.params.html;
    document.body.append(frame);
  } else if (source === window.parent) frame.contentWindow?.postMessage(data, '*');
  else if (source === frame.contentWindow) window.parent.postMessage(data, '*');
});
window.parent.postMessage(
  { jsonrpc: '2.0', method: 'ui/notifications/sandbox-proxy-ready', params: {} },
  '*',
);
