import json
print('{}')
