import json
print(json.dumps({'message_id': 'MSG-00000000', 'delivered': True}))
