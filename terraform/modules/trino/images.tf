resource "aws_ecr_repository" "trino" {
  name                 = "${var.name}/trino"
  image_tag_mutability = "IMMUTABLE"
  force_delete         = var.destroy_with_data

  encryption_configuration {
    encryption_type = "KMS"
    kms_key         = var.images_key_arn
  }

  image_scanning_configuration {
    scan_on_push = true
  }
}
