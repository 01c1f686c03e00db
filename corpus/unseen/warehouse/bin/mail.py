import json
print(json.dumps({'queued': True, 'id': '<0000@example>'}))
